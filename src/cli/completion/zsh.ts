import type { CompletionNode } from "./completion-nodes.ts"
import { renderShellTable } from "./shell-table.ts"

/** A script for zsh: `eval "$(hermes completion zsh)"` after compinit, or a file `_hermes` in the function path. */
export function renderZsh(nodes: readonly CompletionNode[]): string {
  return `#compdef hermes
# Completion of hermes for zsh. Made by: hermes completion zsh
${renderShellTable(nodes)}

_hermes_source() {
  case "$1" in
    '') ;;
    @*) compadd -- \${(s:,:)1#@} ;;
    file) _files ;;
    directory) _files -/ ;;
    *) compadd -- \${(f)"$("\${words[1]}" \${profile:+-p} \${profile:+"$profile"} completion --candidates "$1" 2> /dev/null)"} ;;
  esac
}

_hermes() {
  local cur="\${words[CURRENT]}" node='' want='' waiting='' word entry i profile='' subs flags values args
  _hermes_node ''
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    if [[ -n $waiting && $word != -* ]]; then
      [[ $want == profile ]] && profile="$word"
      waiting=''
    elif [[ $word == -* ]]; then
      waiting=''
      for entry in \${=values}; do
        if [[ \${entry%%=*} == "$word" ]]; then waiting=1; want="\${entry#*=}"; fi
      done
    elif [[ " $subs " == *" $word "* ]]; then
      node="\${node:+$node }$word"
      _hermes_node "$node"
    fi
  done
  if [[ $cur == -* ]]; then
    compadd -- \${=flags}
  elif [[ -n $waiting ]]; then
    _hermes_source "$want"
  else
    [[ -n $subs ]] && compadd -- \${=subs}
    _hermes_source "$args"
  fi
}

if [[ \${funcstack[1]} == _hermes ]]; then
  _hermes "$@"
else
  compdef _hermes hermes
fi
`
}
