/** Splits a command into words as a shell would, without expansions except `~`. Undefined for an open quote. */
export function splitCommand(command: string, userHome: string): readonly string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote: "'" | '"' | undefined
  for (let index = 0; index < command.length; index += 1) {
    const char = command.charAt(index)
    if (quote !== undefined) {
      if (char === quote) quote = undefined
      else if (char === "\\" && quote === '"' && '"\\$`'.includes(command.charAt(index + 1)))
        word = `${word ?? ""}${command.charAt((index += 1))}`
      else word = `${word ?? ""}${char}`
    } else if (char === "'" || char === '"') {
      quote = char
      word ??= ""
    } else if (char === "\\" && index + 1 < command.length) word = `${word ?? ""}${command.charAt((index += 1))}`
    else if (/\s/u.test(char)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (char === "~" && word === undefined && /^(?:\/|\s|$)/u.test(command.slice(index + 1))) word = userHome
    else word = `${word ?? ""}${char}`
  }
  if (word !== undefined) words.push(word)
  return quote === undefined ? words : undefined
}
