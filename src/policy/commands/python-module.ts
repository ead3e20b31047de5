import type { Invocation } from "./invocation.ts"

/** The module of `python3 -m module …` as a call of its own; `-mmodule` is one word. */
export function moduleCall(call: Invocation): Invocation | undefined {
  const at = call.words.findIndex(({ text }) => /^-[a-zA-Z]*m/u.test(text))
  const option = call.words[at]
  if (option === undefined) return undefined
  const attached = option.text.slice(option.text.indexOf("m") + 1)
  const program = attached === "" ? call.words[at + 1]?.text : attached
  if (program === undefined) return undefined
  const words = call.words.slice(at + (attached === "" ? 2 : 1))
  return {
    ...call,
    program,
    words,
    operands: words.filter(({ text }) => !text.startsWith("-")),
    flags: words.filter(({ text }) => text.startsWith("-")).map(({ text }) => text),
  }
}
