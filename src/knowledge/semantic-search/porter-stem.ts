/**
 * Returns the stem of a lower-case English word by Martin Porter's algorithm of 1980 ("deploying", "deployed" → "deploy"). Returns
 * words with characters other than a–z, and very short words, unchanged.
 */
export function porterStem(word: string): string {
  if (word.length < 3 || !/^[a-z]+$/.test(word)) return word
  const withoutInflection = finalY(pastAndGerund(plural(word)))
  return finalE(residue(suffixes(withoutInflection)))
}

function plural(word: string): string {
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2)
  return word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word
}

function pastAndGerund(word: string): string {
  if (word.endsWith("eed")) return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word
  for (const ending of ["ed", "ing"]) {
    if (!word.endsWith(ending)) continue
    const stem = word.slice(0, -ending.length)
    return hasVowel(stem) ? restoreEnding(stem) : word
  }
  return word
}

/** Restores the e of "hoping" and removes the second p of "hopping". */
function restoreEnding(stem: string): string {
  if (/(?:at|bl|iz)$/.test(stem)) return `${stem}e`
  if (endsDouble(stem) && !/[lsz]$/.test(stem)) return stem.slice(0, -1)
  return measure(stem) === 1 && endsShort(stem) ? `${stem}e` : stem
}

function finalY(word: string): string {
  return word.endsWith("y") && hasVowel(word.slice(0, -1)) ? `${word.slice(0, -1)}i` : word
}

const LONG_SUFFIXES: readonly (readonly [string, string])[] = [
  ["ational", "ate"],
  ["tional", "tion"],
  ["enci", "ence"],
  ["anci", "ance"],
  ["izer", "ize"],
  ["abli", "able"],
  ["alli", "al"],
  ["entli", "ent"],
  ["eli", "e"],
  ["ousli", "ous"],
  ["ization", "ize"],
  ["ation", "ate"],
  ["ator", "ate"],
  ["alism", "al"],
  ["iveness", "ive"],
  ["fulness", "ful"],
  ["ousness", "ous"],
  ["aliti", "al"],
  ["iviti", "ive"],
  ["biliti", "ble"],
]

const MIDDLE_SUFFIXES: readonly (readonly [string, string])[] = [
  ["icate", "ic"],
  ["ative", ""],
  ["alize", "al"],
  ["iciti", "ic"],
  ["ical", "ic"],
  ["ful", ""],
  ["ness", ""],
]

function suffixes(word: string): string {
  return [LONG_SUFFIXES, MIDDLE_SUFFIXES].reduce((text, table) => {
    const found = table.find(([suffix]) => text.endsWith(suffix))
    if (found === undefined) return text
    const stem = text.slice(0, -found[0].length)
    return measure(stem) > 0 ? stem + found[1] : text
  }, word)
}

/** Longest first: of "ement", "ment" and "ent" only the longest that matches applies. */
const RESIDUES = [
  "ement",
  "ment",
  "ance",
  "ence",
  "able",
  "ible",
  "ant",
  "ent",
  "ion",
  "ism",
  "ate",
  "iti",
  "ous",
  "ive",
  "ize",
  "al",
  "er",
  "ic",
  "ou",
]

function residue(word: string): string {
  const ending = RESIDUES.find((suffix) => word.endsWith(suffix))
  if (ending === undefined) return word
  const stem = word.slice(0, -ending.length)
  if (ending === "ion" && !/[st]$/.test(stem)) return word
  return measure(stem) > 1 ? stem : word
}

function finalE(word: string): string {
  let text = word
  if (text.endsWith("e")) {
    const stem = text.slice(0, -1)
    if (measure(stem) > 1 || (measure(stem) === 1 && !endsShort(stem))) text = stem
  }
  return text.endsWith("ll") && measure(text) > 1 ? text.slice(0, -1) : text
}

/** Porter's measure: the number of vowel runs followed by a consonant run. */
function measure(stem: string): number {
  return shapeOf(stem).match(/v+c+/g)?.length ?? 0
}

function hasVowel(stem: string): boolean {
  return shapeOf(stem).includes("v")
}

function endsDouble(stem: string): boolean {
  return stem.length > 1 && stem.at(-1) === stem.at(-2) && shapeOf(stem).endsWith("c")
}

/** Ends in consonant, vowel, consonant other than w, x or y, like "hop". */
function endsShort(stem: string): boolean {
  return shapeOf(stem).endsWith("cvc") && !/[wxy]$/.test(stem)
}

/** Maps each letter to "c" or "v"; y is a vowel after a consonant. */
function shapeOf(stem: string): string {
  let shape = ""
  for (const letter of stem) {
    const vowel = "aeiou".includes(letter) || (letter === "y" && shape.endsWith("c"))
    shape += vowel ? "v" : "c"
  }
  return shape
}
