/** Compiles a pattern for absolute paths: true when it could match. `*` stays within a component. */
export function pathGlob(pattern: string): (path: string) => boolean {
  const components = pattern.split("/").map(componentGlob)
  return (path) => {
    const names = path.split("/")
    return components.length === names.length && components.every((matches, index) => matches(names[index] ?? ""))
  }
}

/** The same for one component. `.` at the start is matched too: the shell may have `dotglob` set. */
export function componentGlob(pattern: string): (name: string) => boolean {
  if (!hasGlob(pattern)) return (name) => pattern === name
  // Every extended pattern is judged as if it could match anything.
  const compiled = /[@!+*?]\(/u.test(pattern) ? undefined : toRegExp(pattern)
  return (name) => compiled?.test(name) ?? true
}

export function hasGlob(text: string): boolean {
  return /[*?[]/u.test(text)
}

/** Undefined for a pattern whose bracket expression is not understood. */
function toRegExp(pattern: string): RegExp | undefined {
  // Adjacent stars mean the same as one and would take exponential time.
  const stars = pattern.replaceAll(/\*+/gu, "*")
  // Looking for the end of each of many brackets without one would take quadratic time.
  const closed = stars.lastIndexOf("]") + 1
  const source = `${stars.slice(0, closed)}${stars.slice(closed).replaceAll("[", "[[]")}`.replaceAll(
    /\[([!^]?)(\]?[^\]]*)\]|([*?])|([^*?[]+|\[)/gu,
    (_all, not, set, wildcard, literal) => {
      if (wildcard !== undefined) return wildcard === "*" ? ".*" : "."
      if (literal !== undefined) return escape(String(literal))
      return `[${not === "" ? "" : "^"}${String(set)
        .replaceAll(/[\\\]^[]/gu, String.raw`\$&`)
        .replaceAll(/^-|-$/gu, String.raw`\-`)}]`
    },
  )
  try {
    return new RegExp(`^${source}$`, "su")
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined
    throw cause
  }
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\/]/gu, String.raw`\$&`)
}
