import type { Flag, FlagValues } from "../command.ts"

/** The values of each flag on the command line, in order; `undefined` for a flag without a value. */
export type GivenFlags = ReadonlyMap<string, readonly (string | undefined)[]>

/** `given` must have been validated. The last value of a flag wins, so a flag after the subcommand overrides one before it. */
export function createFlagValues(declared: Iterable<Flag>, given: GivenFlags): FlagValues {
  const names = new Set(Array.from(declared, (flag) => flag.name))
  const valuesOf = (name: string): readonly (string | undefined)[] => {
    if (!names.has(name)) throw new Error(`the command does not declare the flag --${name}`)
    return given.get(name) ?? []
  }
  return {
    has: (name) => valuesOf(name).length > 0,
    text: (name) => valuesOf(name).at(-1),
    texts: (name) => valuesOf(name).filter((value) => value !== undefined),
    number: (name) => {
      const value = valuesOf(name).at(-1)
      return value === undefined ? undefined : Number(value)
    },
  }
}
