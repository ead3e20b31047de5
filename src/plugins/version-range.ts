/** Whether a version is in a semver range: `*`, `1.2.3`, `^1.2`, `~1.2.3`, `>=1 <3`, alternatives with `||`. Undefined for an invalid range. */
export function satisfiesRange(version: string, range: string): boolean | undefined {
  const own = numbersOf(version)
  if (own === undefined) return undefined
  const alternatives = range.split("||").map((part) => meetsAll(own, part.trim()))
  if (alternatives.includes(undefined)) return undefined
  return alternatives.includes(true)
}

type Version = readonly [number, number, number]

function meetsAll(own: Version, part: string): boolean | undefined {
  if (part === "" || part === "*" || part === "x") return true
  const comparators = part.replaceAll(/(>=|<=|>|<|=|\^|~)\s+/gu, "$1").split(/\s+/u)
  const met = comparators.map((comparator) => meets(own, comparator))
  return met.includes(undefined) ? undefined : met.every((each) => each === true)
}

function meets(own: Version, comparator: string): boolean | undefined {
  const [, operator = "", written = ""] = /^(>=|<=|>|<|=|\^|~)?v?(.+)$/u.exec(comparator) ?? []
  const given = numbersOf(written)
  if (given === undefined) return undefined
  const order = compare(own, given)
  switch (operator) {
    case ">=":
      return order >= 0
    case "<=":
      return order <= 0
    case ">":
      return order > 0
    case "<":
      return order < 0
    case "^":
      return order >= 0 && compare(own, afterCaret(given)) < 0
    case "~":
      return order >= 0 && compare(own, [given[0], given[1] + 1, 0]) < 0
    default: {
      const parts = written.split(".").filter((part) => /^\d+/u.test(part)).length
      return own.slice(0, Math.min(parts, 3)).every((number, index) => number === given[index])
    }
  }
}

/** The first version that `^` excludes: the next change of the leftmost number that is not zero. */
function afterCaret([major, minor, patch]: Version): Version {
  if (major > 0) return [major + 1, 0, 0]
  return minor > 0 ? [0, minor + 1, 0] : [0, 0, patch + 1]
}

function numbersOf(text: string): Version | undefined {
  const [, major, minor = "0", patch = "0"] = /^(\d+)(?:\.(\d+|x|\*))?(?:\.(\d+|x|\*))?(?:[-+].*)?$/u.exec(text) ?? []
  if (major === undefined) return undefined
  return [Number(major), Number(minor) || 0, Number(patch) || 0]
}

function compare(a: Version, b: Version): number {
  const differing = a.findIndex((number, index) => number !== b[index])
  return differing === -1 ? 0 : (a[differing] ?? 0) - (b[differing] ?? 0)
}
