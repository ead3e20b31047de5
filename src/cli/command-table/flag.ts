import type { Completion, Flag } from "../command.ts"

type Extras = Partial<Pick<Flag, "short" | "repeatable" | "later" | "conflictsWith" | "hidden" | "joinsWords">>

/** A flag without a value. */
export function toggle(name: string, summary: string, extras: Extras = {}): Flag {
  return { name, summary, value: { kind: "none" }, ...extras }
}

/** A flag with a text value. `value` is the placeholder shown in help. */
export function text(
  name: string,
  summary: string,
  options: Extras & { readonly value: string; readonly complete?: Completion },
): Flag {
  const { value, complete, ...extras } = options
  return { name, summary, value: { kind: "text", placeholder: value, ...(complete && { complete }) }, ...extras }
}

export function integer(
  name: string,
  summary: string,
  options: Extras & { readonly value: string; readonly min?: number; readonly max?: number },
): Flag {
  const { value, min, max, ...extras } = options
  const bounds = { ...(min !== undefined && { min }), ...(max !== undefined && { max }) }
  return { name, summary, value: { kind: "integer", placeholder: value, ...bounds }, ...extras }
}

export function decimal(name: string, summary: string, options: Extras & { readonly value: string }): Flag {
  const { value, ...extras } = options
  return { name, summary, value: { kind: "number", placeholder: value, min: 0 }, ...extras }
}

export function choice(name: string, summary: string, options: Extras & { readonly of: readonly string[] }): Flag {
  const { of, ...extras } = options
  return { name, summary, value: { kind: "choice", choices: of }, ...extras }
}

export const json = toggle("json", "print one JSON document")
export const yes = toggle("yes", "do not ask for confirmation", { short: "y" })

/** The earlier name of `yes` in some commands, which still works. */
export const force = toggle("force", "the same as --yes", { short: "f", hidden: true })
