interface TurnTypes {
  readonly role: unknown
  /** The types of its content blocks, in order. */
  readonly types: readonly string[]
}

/** Claude's error for a request with a thinking budget whose open tool loop does not begin with thinking. */
export function thinkingRejection(
  turns: readonly TurnTypes[],
  names: { readonly result: string; readonly thinking: readonly string[] },
): string | undefined {
  if (turns.at(-1)?.types.includes(names.result) !== true) return undefined
  const isQuestion = ({ role, types }: TurnTypes): boolean => role === "user" && !types.includes(names.result)
  const first = turns.findIndex(({ role }, index) => role === "assistant" && index > turns.findLastIndex(isQuestion))
  const [found = "nothing"] = turns[first]?.types ?? []
  if (first === -1 || names.thinking.includes(found)) return undefined
  return `messages.${first}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${found}\`.`
}
