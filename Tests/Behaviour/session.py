"""Programs that a behaviour talks to while they run: over pipes, or on a terminal of their own."""

import os, pty, re, select, signal, subprocess, time

from harness import Failure, Result


class Session:
    """A command with its stdin and stdout in our hands."""

    def __init__(self, bench, command):
        self.err = open(bench.path(f"stderr{time.monotonic_ns()}"), "w+")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.err,
            env=bench.env,
            cwd=bench.folder,
            start_new_session=True,
        )
        self.out, self.fd, self.read_to = "", self.process.stdout.fileno(), 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        for file in (self.process.stdin, self.process.stdout, self.err):
            try:
                file.close()
            except BrokenPipeError:
                pass

    def until(self, pattern, seconds=60):
        """Reads up to the next match in what has not been looked at yet."""
        end = time.monotonic() + seconds
        while True:
            match = re.compile(pattern, re.M).search(self.out, self.read_to)
            if match:
                self.read_to = match.end()
                return match
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise Failure(f"waits for {pattern!r} in vain; so far: {self.out[-300:]!r}")
            more = self.read_more()
            if not more:
                raise Failure(f"ends without {pattern!r}; so far: {self.out[-300:]!r}")
            self.out += more

    def read_more(self):
        return os.read(self.fd, 65536).decode("utf-8", "replace")

    def send(self, text):
        self.process.stdin.write(text.encode())
        self.process.stdin.flush()

    def finish(self, seconds=60):
        """Closes stdin and reads to the end."""
        self.process.stdin.close()
        end = time.monotonic() + seconds
        while True:
            if not select.select([self.fd], [], [], max(0, end - time.monotonic()))[0]:
                raise Failure(f"does not end; so far: {self.out[-300:]!r}")
            more = self.read_more()
            if not more:
                break
            self.out += more
        self.process.wait(seconds)
        self.err.seek(0)
        return Result(self.process.returncode, self.out, self.err.read())


class Terminal(Session):
    """A command on a pseudo-terminal that is its controlling one: Ctrl-C and Ctrl-Z go where a terminal sends them."""

    def __init__(self, bench, command):
        self.fd, slave = pty.openpty()
        # setsid --ctty makes our pty the controlling terminal without code of ours between fork and exec.
        self.process = subprocess.Popen(
            ["setsid", "--ctty", "--wait", *command],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=bench.env,
            cwd=bench.folder,
        )
        os.close(slave)
        self.out, self.read_to = "", 0

    def __exit__(self, *_):
        os.close(self.fd)  # hangs up: whatever still runs there gets SIGHUP
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def read_more(self):
        try:
            return os.read(self.fd, 65536).decode("utf-8", "replace").replace("\r\n", "\n")
        except OSError:  # the other side is closed
            return ""

    def send(self, text):
        os.write(self.fd, text.encode())
