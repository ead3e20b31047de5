import { CODE } from "../command-rule.ts"
import type { CommandRule } from "../command-rule.ts"
import { hasFlag } from "../invocation.ts"
import type { Invocation } from "../invocation.ts"
import { protectedDirectory } from "../protected-targets.ts"

/** `./x -rf /`: with these words a program that has another name than usual may be one that deletes. */
function isRuinous(call: Invocation): boolean {
  const [program] = call.command.argv
  if (call.isWrapper || program?.text.includes("/") !== true || SYSTEM_PROGRAM.test(program.text)) return false
  if (call.words.some(({ text }) => DISK.test(text))) return true
  const isRecursive = hasFlag(call, /^-[a-zA-Z]*[rR]|^--recu/u)
  const isForced = hasFlag(call, /^-[a-zA-Z]*f|^--forc/u)
  return isRecursive && isForced && call.operands.some((word) => protectedDirectory(call, word) !== undefined)
}

const SYSTEM_PROGRAM = /^\/(?:usr\/)?(?:local\/)?s?bin\/[^/]+$/u
const DISK = /^of=\/dev\/(?!null$|stdout$|stderr$|tty$)/u

export const RENAMED_PROGRAM_RULES: readonly CommandRule[] = [
  {
    key: "unknown program with the arguments of a deletion",
    programs: ["*"],
    when: isRuinous,
    does: "has the arguments of a program that deletes, under another name",
    effects: CODE,
  },
]
