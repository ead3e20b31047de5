import { isRecord } from "../base/json.ts"

/** One setting, for loading, validation, `config set`, completion and the reference page. */
export interface Setting<T = unknown> {
  readonly type: SettingType
  readonly default: T
  /** One sentence for the user. */
  readonly help: string
  readonly values?: readonly string[]
  readonly min?: number
  readonly max?: number
  readonly nullable?: true
  /** The known members of a mapping, each with its own setting. */
  readonly fields?: Readonly<Record<string, Setting>>
  readonly environment?: EnvironmentSource
  /** No code reads it yet: it is accepted and kept, without effect. */
  readonly reserved?: true
  /** An invalid value stops the start, because the default could allow more than the user intended. */
  readonly strict?: true
  /** The typed value, or undefined when the given one is invalid. Numbers out of range are clamped. */
  readonly read: (value: unknown) => T | undefined
}

type SettingType = "boolean" | "integer" | "number" | "string" | "enum" | "list" | "mapping" | "mixed"

/**
 * The variable that sets this key.
 * - `wins`: it overrides the file. - `fills`: it applies only when the file lacks the key.
 * - `section`: it applies only when the file lacks the whole top-level section (the terminal variables).
 */
export interface EnvironmentSource {
  readonly name: string
  readonly strength: "wins" | "fills" | "section"
}

interface Extra {
  readonly environment?: EnvironmentSource
  readonly reserved?: true
  readonly strict?: true
}

interface NumberExtra extends Extra {
  readonly min?: number
  readonly max?: number
}

/** The longest limit in seconds. A timer that runs longer than 24 days would fire at once. */
export const MAX_SECONDS = 2_000_000

export function flag(initial: boolean, help: string, extra: Extra = {}): Setting<boolean> {
  return { type: "boolean", default: initial, help, ...extra, read: readBoolean }
}

export function text(initial: string, help: string, extra: Extra = {}): Setting<string> {
  return { type: "string", default: initial, help, ...extra, read: readText }
}

export function integer(initial: number, help: string, extra: NumberExtra = {}): Setting<number> {
  return {
    type: "integer",
    default: initial,
    help,
    ...extra,
    read: (value) => readNumber(value, { ...extra, whole: true }),
  }
}

export function decimal(initial: number, help: string, extra: NumberExtra = {}): Setting<number> {
  return { type: "number", default: initial, help, ...extra, read: (value) => readNumber(value, extra) }
}

/** An integer that may be absent; null is written in the file as `null` and means "no limit" or "unset". */
export function optionalInteger(help: string, extra: NumberExtra = {}): Setting<number | null> {
  const read = (value: unknown) => (value === null ? null : readNumber(value, { ...extra, whole: true }))
  return { type: "integer", default: null, help, nullable: true, ...extra, read }
}

export function optionalDecimal(help: string, extra: NumberExtra = {}): Setting<number | null> {
  const read = (value: unknown) => (value === null ? null : readNumber(value, extra))
  return { type: "number", default: null, help, nullable: true, ...extra, read }
}

export function optionalFlag(help: string, extra: Extra = {}): Setting<boolean | null> {
  const read = (value: unknown) => (value === null ? null : readBoolean(value))
  return { type: "boolean", default: null, help, nullable: true, ...extra, read }
}

export function optionalText(help: string, extra: Extra = {}): Setting<string | null> {
  const read = (value: unknown) => (value === null ? null : readText(value))
  return { type: "string", default: null, help, nullable: true, ...extra, read }
}

interface ChoiceExtra<V extends string> extends Extra {
  /** YAML reads `on` and `off` as booleans; these are the values they stand for (default `on` and `off`). */
  readonly whenTrue?: V
  readonly whenFalse?: V
}

export function choice<const V extends string>(
  values: readonly V[],
  initial: NoInfer<V>,
  help: string,
  { whenTrue, whenFalse, ...extra }: ChoiceExtra<NoInfer<V>> = {},
): Setting<V> {
  const find = (word: unknown) => values.find((value) => value === word)
  const read = (value: unknown): V | undefined => {
    if (value === true) return whenTrue ?? find("on")
    if (value === false) return whenFalse ?? find("off")
    return typeof value === "string" ? (find(value) ?? find(value.trim().toLowerCase())) : undefined
  }
  return { type: "enum", default: initial, help, values, ...extra, read }
}

export function texts(initial: readonly string[], help: string, extra: Extra = {}): Setting<readonly string[]> {
  return { type: "list", default: initial, help, ...extra, read: readTexts }
}

/** A list whose items are parsed by the code that uses them. */
export function list(help: string, extra: Extra = {}): Setting<readonly unknown[]> {
  const read = (value: unknown) => (Array.isArray(value) ? [...value] : undefined)
  return { type: "list", default: [], help, ...extra, read }
}

/** A mapping with free keys, parsed by the code that uses it. */
export function mapping(
  help: string,
  extra: Extra & { readonly initial?: Readonly<Record<string, unknown>> } = {},
): Setting<Readonly<Record<string, unknown>>> {
  const { initial = {}, ...rest } = extra
  return {
    type: "mapping",
    default: initial,
    help,
    ...rest,
    read: (value) => (isRecord(value) ? value : undefined),
  }
}

/** A value of several types; `read` decides. */
export function mixed<T>(
  initial: T,
  help: string,
  read: (value: unknown) => T | undefined,
  extra: Extra = {},
): Setting<T> {
  return { type: "mixed", default: initial, help, ...extra, read }
}

/** A mapping whose known members are settings; other members are kept unchanged. */
export function group(
  fields: Readonly<Record<string, Setting>>,
  help: string,
  extra: Extra = {},
): Setting<Readonly<Record<string, unknown>>> {
  const initial = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.default]))
  return { ...mapping(help, { ...extra, initial }), fields }
}

export function readBoolean(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value
  if (value === 0 || value === 1) return value === 1
  if (typeof value !== "string") return undefined
  const word = value.trim().toLowerCase()
  if (["1", "true", "yes", "on"].includes(word)) return true
  return ["0", "false", "no", "off"].includes(word) ? false : undefined
}

/** Accepts numbers as text, such as `ssh_host: 10` or a token of digits. */
export function readText(value: unknown): string | undefined {
  if (typeof value === "string") return value
  return typeof value === "number" ? String(value) : undefined
}

/** Accepts text, because `${VAR}` always expands to text. */
export function readNumber(
  value: unknown,
  { min, max, whole }: { readonly min?: number; readonly max?: number; readonly whole?: boolean } = {},
): number | undefined {
  const number =
    typeof value === "string" && /^\s*-?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(value) ? Number(value) : value
  if (typeof number !== "number" || !Number.isFinite(number)) return undefined
  if (whole === true && !Number.isInteger(number)) return undefined
  return Math.min(Math.max(number, min ?? -Infinity), max ?? Infinity)
}

/** Accepts a single string as a list of one. */
export function readTexts(value: unknown): readonly string[] | undefined {
  if (typeof value === "string") return value === "" ? [] : [value]
  if (!Array.isArray(value)) return undefined
  const items = value.map(readText)
  return items.every((item) => item !== undefined) ? items : undefined
}
