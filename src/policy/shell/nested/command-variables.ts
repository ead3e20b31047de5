import type { Call, Interpreter } from "../interpreter.ts"
import { nestedSource } from "./nested-shell.ts"

/** Variables whose value other programs run as a command. */
const COMMANDS =
  /^(?:(?:GIT_|MAN|SYSTEMD_|AWS_|GH_|BAT_|DELTA_)?PAGER|(?:GIT_(?:SEQUENCE_)?|SUDO_|SYSTEMD_)?EDITOR|VISUAL|FCEDIT|GIT_SSH(?:_COMMAND)?|GIT_EXTERNAL_DIFF|GIT_PROXY_COMMAND|(?:GIT|SSH|SUDO)_ASKPASS|BROWSER|LESS(?:OPEN|CLOSE)|RSYNC_RSH|CVS_RSH|TAR_OPTIONS|MAKE_SHELL|PROMPT_COMMAND)$/u
/** Variables in which the shell expands substitutions. */
const TEMPLATES = /^(?:PS[0-4]|BASH_ENV|ENV)$/u

/** An exported function: `BASH_FUNC_name%%=() { …; }`. */
const FUNCTION = /^BASH_FUNC_.*(?:%%|\(\))$/u

/** Interprets the commands that the values of certain variables stand for. */
export function runVariableCommands(assignments: Call["assignments"], { frame }: Call, interpreter: Interpreter): void {
  for (const { name, value } of assignments) {
    const text = FUNCTION.test(name)
      ? value.text.replace(/^\s*\(\)/u, "")
      : TEMPLATES.test(name)
        ? /\$\(|`/u.test(value.text)
          ? `: "${value.text.replaceAll('"', String.raw`\"`)}"`
          : undefined
        : COMMANDS.test(name) && value.text !== ""
          ? value.text.replace(/^\|/u, "")
          : undefined
    if (text === undefined) continue
    if (!value.known) interpreter.doubt("script", `${name}=${value.text}`, "the command in this variable is computed")
    interpreter.runText(text, { ...frame, scope: frame.scope.fork(), source: nestedSource(frame) })
  }
}
