# Bash completions for the lifespan command; installed by Tools/install. Commands and options come from the command's own
# --help, so that they cannot fall behind it.
_lifespan() {
  local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]-} word=${COMP_WORDS[COMP_CWORD]} words=''
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    words="$("$program" --help 2>/dev/null | sed -n '/^commands:/,/^$/s/^  \([a-z]*\) .*/\1/p') --help --version"
  elif [[ $word == -* ]]; then
    words=$("$program" "$command" --help 2>/dev/null | grep -oE '^ +-[^ ].*' | sed 's/  [^ -].*//' | grep -oE -- '--?[a-z][a-z-]*')
  else
    case ${COMP_WORDS[COMP_CWORD - 1]} in
      --unwind) words="auto fp libunwind none" ;;
      --lifespan) words="all living destroyed" ;;
      --format)
        case $command in
          leaks) words="table json junit" ;;
          growth) words="table json csv markdown junit" ;;
          export) words="pprof collapsed speedscope heaptrack json csv markdown dot" ;;
          explain | holders | history | tree) words="table json" ;;
          *) words="table json csv markdown" ;;
        esac
        ;;
      --separate-by) words="type thread" ;;
      --by) [ "$command" = stats ] && words="type module package file thread size caller" || words="type stack" ;;
      --weight) words="bytes count" ;;
      --fail-on) [ "$command" != leaks ] || words="leaked abandoned" ;;
      --when-full) words="wait drop" ;;
      --keep) words="all living" ;;
      --events) words="allocations refcounts" ;;
      --color) words="auto always never" ;;
      --symbols | --sysroot | --debug-path) mapfile -t COMPREPLY < <(compgen -d -- "$word") && return ;;
      --) mapfile -t COMPREPLY < <(compgen -c -- "$word") ;;
    esac
  fi
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  elif [ "$command" = record ]; then
    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -f -X '!*.lifespan' -- "$word")
  fi
}
complete -o filenames -F _lifespan lifespan
