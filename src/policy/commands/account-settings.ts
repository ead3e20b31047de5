import type { ShellWord } from "../shell/understood-command.ts"
import { absolutePath } from "./command-paths.ts"
import type { Invocation } from "./invocation.ts"

/** Whether a variable leads git, curl or wget to other settings than those of the account. */
export function movesAccountSettings(call: Invocation): boolean {
  const { command, facts, understood } = call
  const isMoved = (name: string, value: ShellWord): boolean => {
    if (name === "HOME") return !value.known || absolutePath(value, command.directory) !== facts.userHome
    if (SETTINGS_VARIABLE.test(name)) return value.text !== "/dev/null"
    if (name !== "XDG_CONFIG_HOME") return false
    return !value.known || (value.text !== "" && absolutePath(value, command.directory) !== `${facts.userHome}/.config`)
  }
  return (
    [...understood.after.variables].some(([name, text]) =>
      isMoved(name, { text: text ?? "", known: text !== undefined, pattern: false }),
    ) ||
    understood.commands.some(({ argv, assignments, wrappers, source }) => {
      if (source === "remote") return false
      const words = [...argv.slice(1), ...wrappers.flatMap((wrapper) => wrapper.argv.slice(1))]
      const isEnvironment = DECLARING.test(argv[0]?.text ?? "") || wrappers.length > 0
      const declared = (isEnvironment ? words : []).flatMap((word) => {
        const parts = /^(\w+)=(.*)$/su.exec(word.text)
        return parts === null ? [] : [{ name: parts[1] ?? "", value: { ...word, text: parts[2] ?? "" } }]
      })
      return [...assignments, ...declared].some(({ name, value }) => isMoved(name, value))
    })
  )
}

const SETTINGS_VARIABLE = /^(?:CURL_HOME|WGETRC|SYSTEM_WGETRC)$/u
const DECLARING = /^(?:export|declare|typeset|readonly|local|env)$/u
