import type { CompletionNode } from "./completion-nodes.ts"
import { renderShellTable } from "./shell-table.ts"

/** A script for bash 4 and newer; `eval "$(hermes completion bash)"`. */
export function renderBash(nodes: readonly CompletionNode[]): string {
  return `# Completion of hermes for bash. Made by: hermes completion bash
${renderShellTable(nodes)}

_hermes_offer() {
  local line
  while IFS= read -r line; do
    [[ -n $line && $line == "$bare"* ]] || continue
    if [[ $cur == [\\"\\']* ]]; then COMPREPLY+=("$line"); else COMPREPLY+=("$(printf '%q' "$line")"); fi
  done
}

_hermes_source() {
  case "$1" in
    '') ;;
    @*) local IFS=','; _hermes_offer < <(printf '%s\\n' \${1#@}) ;;
    file) compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$bare") ;;
    directory) compopt -o filenames 2> /dev/null; mapfile -t COMPREPLY < <(compgen -d -- "$bare") ;;
    *) _hermes_offer < <("\${COMP_WORDS[0]}" \${profile:+-p "$profile"} completion --candidates "$1" 2> /dev/null) ;;
  esac
}

_hermes() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" node='' want='' waiting='' word entry i profile='' subs flags values args
  COMPREPLY=()
  _hermes_node ''
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    [[ $word == '=' ]] && continue
    if [[ -n $waiting && $word != -* ]]; then
      [[ $want == profile ]] && profile="$word"
      waiting=''
    elif [[ $word == -* ]]; then
      waiting=''
      for entry in $values; do
        if [[ \${entry%%=*} == "$word" ]]; then waiting=1; want="\${entry#*=}"; fi
      done
    elif [[ " $subs " == *" $word "* ]]; then
      node="\${node:+$node }$word"
      _hermes_node "$node"
    fi
  done
  [[ $cur == '=' ]] && cur=''
  local bare="\${cur#[\\"\\']}"
  if [[ $cur == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$flags" -- "$cur")
  elif [[ -n $waiting ]]; then
    _hermes_source "$want"
  else
    [[ -n $subs ]] && mapfile -t COMPREPLY < <(compgen -W "$subs" -- "$cur")
    _hermes_source "$args"
  fi
}

complete -F _hermes hermes
`
}
