"""A headless Chromium, driven over its debugging pipe with the standard library alone: opens a page, asks it, takes its picture.

Used by page.py and by Tools/demo.d/picture. Whatever happens, the browser ends: it has a process group of its own, and every answer a deadline.
"""

import base64, json, os, select, shutil, signal, subprocess, tempfile, time

DEADLINE = 60


class Broken(Exception):
    """The browser did not do what was asked of it."""


def command():
    """Debian's browser; None where there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser")


class Browser:
    """One browser with one page. `with Browser() as browser:`"""

    def __init__(self, folder=None, width=1280, height=800):
        self.profile = tempfile.mkdtemp(prefix="chromium.", dir=folder)
        self.requests, self.complaints = [], []
        self.number, self.waiting, self.events, self.session = 0, b"", [], None
        to_browser, from_us = os.pipe()
        to_us, from_browser = os.pipe()
        self.output, self.input = from_us, to_us

        def hand_over():
            # It reads commands from 3 and writes answers to 4.
            low, high = os.dup(to_browser), os.dup(from_browser)
            while low <= 4:
                low = os.dup(low)
            while high <= 4:
                high = os.dup(high)
            os.dup2(low, 3)
            os.dup2(high, 4)

        words = [command(), "--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
                 "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--force-color-profile=srgb",
                 "--disable-extensions", "--disable-sync", "--no-default-browser-check", "--mute-audio", f"--user-data-dir={self.profile}"]
        if os.geteuid() == 0:
            words.append("--no-sandbox")
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        env.update(HOME=self.profile, XDG_CONFIG_HOME=self.profile, XDG_CACHE_HOME=self.profile)
        self.process = subprocess.Popen(
            words + [f"--window-size={width},{height}", "about:blank"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, close_fds=False, preexec_fn=hand_over, start_new_session=True)
        os.close(to_browser)
        os.close(from_browser)
        try:
            # No page before the first target is there.
            page = self.ask("Target.createTarget", url="about:blank")["targetId"]
            self.session = self.ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
            for domain in ("Page", "Runtime", "Network", "Log"):
                self.ask(domain + ".enable")
            self.size(width, height)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for descriptor in (self.output, self.input):
            try:
                os.close(descriptor)
            except OSError:
                pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        # Its helpers go with the group, but a moment later.
        for _ in range(50):
            shutil.rmtree(self.profile, ignore_errors=True)
            if not os.path.exists(self.profile):
                break
            time.sleep(0.02)

    def ask(self, method, **words):
        """One command, and its answer."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": words}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.output, data):]
        end = time.monotonic() + DEADLINE
        while True:
            answer = self.read(end, method)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Broken(f"{method}: {answer['error'].get('message')}")
                return answer["result"]
            self.take(answer)

    def read(self, end, what):
        while b"\0" not in self.waiting:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.input], [], [], left)[0]:
                raise Broken(f"no answer to {what} within {DEADLINE} s")
            piece = os.read(self.input, 1 << 20)
            if not piece:
                raise Broken(f"the browser ended at {what}, status {self.process.poll()}")
            self.waiting += piece
        one, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(one)

    def take(self, event):
        method, words = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent":
            self.requests.append(words["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = words["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and words["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(one.get("value")) for one in words["args"]))
        elif method == "Log.entryAdded" and words["entry"]["level"] in ("error", "warning"):
            self.complaints.append(words["entry"]["text"])
        else:
            self.events.append(method)

    def open(self, path, ready="document.documentElement?.dataset.ready === 'true'", fragment=""):
        """Opens a file and waits until it says that it is ready. Returns the seconds from the start of its loading, by its own clock."""
        self.requests, self.complaints = [], []
        # Another address: a change of the fragment alone would load nothing.
        self.ask("Page.navigate", url="about:blank")
        self.requests.clear()
        self.ask("Page.navigate", url="file://" + path + fragment)
        self.wait(f"location.protocol === 'file:' && {ready}")
        return self.run("performance.now()") / 1000

    def run(self, expression):
        """The value of an expression in the page."""
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise Broken(answer["exceptionDetails"].get("exception", {}).get("description", "an expression failed"))
        return answer["result"].get("value")

    def wait(self, condition):
        end = time.monotonic() + DEADLINE
        while not self.run(f"Boolean({condition})"):
            if time.monotonic() > end:
                raise Broken(f"never true: {condition}")
            time.sleep(0.02)

    def frame(self):
        """What was asked for has been drawn."""
        # A change of size is seen in the first, drawn in the second.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => done(true)))))")

    def key(self, name, text="", shift=False):
        """Presses a key."""
        codes = {"Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "End": 35, "Home": 36,
                 "PageUp": 33, "PageDown": 34, "Tab": 9, "Backspace": 8}
        word = {"key": name, "windowsVirtualKeyCode": codes.get(name, ord(name.upper()[0])), "modifiers": 8 if shift else 0}
        text = text or ("\r" if name == "Enter" else name if len(name) == 1 else "")
        self.ask("Input.dispatchKeyEvent", type="keyDown", text=text, **word)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **word)
        self.frame()

    def type(self, text):
        self.ask("Input.insertText", text=text)
        self.frame()

    def click(self, selector, number=0):
        """Clicks in the middle of an element, with the pointer."""
        place = f"document.querySelectorAll({json.dumps(selector)})[{number}]"
        box = self.run(f"(() => {{ const e = {place}; if (!e) return null; e.scrollIntoView({{block: 'nearest'}});"
                       " const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; })()")
        if not box:
            raise Broken(f"nothing to click: {selector} {number}")
        for kind in ("mousePressed", "mouseReleased"):
            self.ask("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)
        self.frame()

    def size(self, width, height):
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        """Light or dark, as the system would say."""
        self.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        self.frame()
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))
