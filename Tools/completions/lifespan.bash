# Bash completions for the lifespan command; installed by Tools/install. A behaviour test holds the list of commands against
# `lifespan --help`.
_lifespan() {
  local commands="record list start stop mark stats generations diff objects history dump doctor"
  local record="-o --force --events --record --ignore --unwind --depth --death-stacks --buffer --when-full --rings --time
    --paused --mark-signal --stats --help"
  local report="--json --lifespan --type --exclude-type --kind --module --from --to --mark-at --sort --limit --color --help"
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]-}
  COMPREPLY=()
  if [ "$COMP_CWORD" = 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands --help --version" -- "$word")
    return
  fi
  case $previous in
    --unwind) mapfile -t COMPREPLY < <(compgen -W "auto fp libunwind none" -- "$word") ; return ;;
    --lifespan) mapfile -t COMPREPLY < <(compgen -W "all living destroyed" -- "$word") ; return ;;
    --when-full) mapfile -t COMPREPLY < <(compgen -W "wait drop" -- "$word") ; return ;;
    --events) mapfile -t COMPREPLY < <(compgen -W "allocations refcounts" -- "$word") ; return ;;
    --color) mapfile -t COMPREPLY < <(compgen -W "auto always never" -- "$word") ; return ;;
  esac
  case $command in
    record)
      if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$record" -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -c -- "$word"; compgen -f -- "$word")
      fi
      ;;
    *)
      if [[ $word == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$report" -- "$word")
      else
        mapfile -t COMPREPLY < <(compgen -f -X '!*.lifespan' -- "$word")
      fi
      ;;
  esac
}
complete -o filenames -F _lifespan lifespan
