/**
 * The tool name closest to a name that a model misspelt, or undefined when none is close enough. Names with `guessable` false must be
 * meant by another spelling of the same words: tools of one MCP server differ only in their ends, so a similar name is another tool.
 */
export function repairToolName(
  given: string,
  names: Iterable<string>,
  guessable: (name: string) => boolean = () => true,
): string | undefined {
  const valid = new Map<string, string>()
  for (const name of names) {
    if (name === given) return name
    if (!valid.has(name.toLowerCase())) valid.set(name.toLowerCase(), name)
  }
  const cut = cutMarkup(given)
  for (const candidate of candidatesFor(cut)) {
    const name = valid.get(candidate)
    if (name !== undefined) return name
  }
  return closest(cut.toLowerCase(), new Map([...valid].filter(([, name]) => guessable(name))))
}

/** Some models append call syntax to the name; a quote or bracket ends the name. */
function cutMarkup(given: string): string {
  const end = given.slice(1).search(/["'<>]/u)
  return end === -1 ? given : given.slice(0, end + 1)
}

function candidatesFor(name: string): ReadonlySet<string> {
  let forms = new Set([name])
  const candidates = new Set(spellings(name))
  for (let round = 0; round < 2; round += 1) {
    forms = new Set(
      [...forms].flatMap((form) => [form, snakeCase(form)]).flatMap((form) => withoutToolSuffix(form) ?? []),
    )
    for (const form of forms) for (const spelling of spellings(form)) candidates.add(spelling)
  }
  candidates.delete("")
  return candidates
}

function spellings(name: string): readonly string[] {
  return [name.toLowerCase(), normalise(name), normalise(snakeCase(name))]
}

function normalise(name: string): string {
  return name.toLowerCase().replaceAll(/[- ]/gu, "_")
}

function snakeCase(name: string): string {
  return name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/gu, "_").toLowerCase()
}

function withoutToolSuffix(name: string): string | undefined {
  const stripped = name.replace(/[_-]?tool$/iu, "")
  return stripped === name ? undefined : stripped
}

const MIN_SIMILARITY = 0.7

/** No tool name is longer; longer text is not compared, to save time. */
const MAX_COMPARED = 128

function closest(name: string, valid: ReadonlyMap<string, string>): string | undefined {
  if (name === "" || name.length > MAX_COMPARED) return undefined
  let best: string | undefined
  let bestSimilarity = MIN_SIMILARITY
  for (const [lower, original] of valid) {
    const similarity = similarityOf(lower, name)
    if (similarity > bestSimilarity || (best === undefined && similarity === bestSimilarity)) {
      best = original
      bestSimilarity = similarity
    }
  }
  return best
}

/** 2·M/T, where M is the number of characters in matching blocks and T that of both words. */
function similarityOf(a: string, b: string): number {
  return (2 * matchingCharacters(a, b)) / (a.length + b.length)
}

/** The longest common block, then recursively to its left and right. */
function matchingCharacters(a: string, b: string): number {
  const block = longestBlock(a, b)
  if (block.length === 0) return 0
  return (
    block.length +
    matchingCharacters(a.slice(0, block.inA), b.slice(0, block.inB)) +
    matchingCharacters(a.slice(block.inA + block.length), b.slice(block.inB + block.length))
  )
}

function longestBlock(a: string, b: string): { readonly inA: number; readonly inB: number; readonly length: number } {
  let best = { inA: 0, inB: 0, length: 0 }
  let previous: readonly number[] = []
  for (let row = 0; row < a.length; row += 1) {
    const current: number[] = []
    for (let column = 0; column < b.length; column += 1) {
      const length = a[row] === b[column] ? (previous[column - 1] ?? 0) + 1 : 0
      current.push(length)
      if (length > best.length) best = { inA: row - length + 1, inB: column - length + 1, length }
    }
    previous = current
  }
  return best
}
