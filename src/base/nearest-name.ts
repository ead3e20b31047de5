/**
 * The candidate that `word` is probably a misspelling or the beginning of, for "did you mean …?" hints. At most a third of the
 * letters may differ, because a distant name is a wrong hint.
 */
export function nearest(word: string, candidates: Iterable<string>, maxDistance = 2): string | undefined {
  const typed = nameOf(word)
  if (typed.length < 2) return undefined
  let best: string | undefined
  let bestDistance = Math.min(maxDistance, Math.max(1, Math.floor(typed.length / 3))) + 1
  for (const candidate of candidates) {
    const name = nameOf(candidate)
    // Skips by length first, so that a word of a megabyte is not compared letter by letter.
    if (Math.abs(name.length - typed.length) > Math.max(maxDistance, 1)) continue
    const isBeginning = typed.length >= MIN_BEGINNING && name.startsWith(typed)
    const distance = isBeginning ? Math.min(1, name.length - typed.length) : typingDistance(typed, name)
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

const MIN_BEGINNING = 3

/** Without the dashes of a flag or the slash of a command, which every candidate has. */
function nameOf(word: string): string {
  return word.toLowerCase().replace(/^(?:-+|\/)/, "")
}

/** Edit distance in which two swapped neighbours are one edit. */
function typingDistance(a: string, b: string): number {
  const distance = editDistance(a, b)
  return distance === 2 && isSwapped(a, b) ? 1 : distance
}

function isSwapped(a: string, b: string): boolean {
  const first = Array.from(a, (letter, index) => letter === b[index]).indexOf(false)
  return `${a.slice(0, first)}${a[first + 1] ?? ""}${a[first] ?? ""}${a.slice(first + 2)}` === b
}

/** Levenshtein distance over two rows. */
export function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
