import { systemClock, type Clock } from "../base/clock.ts"
import { isRecord } from "../base/json.ts"
import { readConfigFile, type BrokenFile } from "./config-file.ts"
import type { ConfigProblem } from "./config-problem.ts"
import {
  expandVariables,
  hasPath,
  mergeTrees,
  treeFrom,
  valueAt,
  withValueAt,
  type Tree,
} from "./document/document-tree.ts"
import type { Environment } from "./environment.ts"
import { environmentOverrides, invalidSwitches, type Override } from "./environment-overrides.ts"
import type { Home } from "./home.ts"
import { normalizeLegacySettings } from "./migration/legacy-settings.ts"
import type { Setting } from "./setting.ts"
import {
  isSettingKey,
  settingEntries,
  settingOf,
  settingsUnder,
  type SettingKey,
  type SettingValue,
} from "./settings.ts"
import { validateDocument, validateSettings } from "./validate.ts"
import { expectedValue, nearestChoice } from "./document/expected-value.ts"

export type SettingsLayer = "invocation" | "environment" | "file" | "default"

/** The settings one process or session runs with: an immutable snapshot of all four layers. */
export interface Config {
  get<K extends SettingKey>(key: K): SettingValue<K>
  /** The value at any dotted path, even inside free mappings (`providers.x.api`); undefined when absent. */
  lookup(path: string): unknown
  origin(path: string): SettingsLayer
  /** A copy of everything: all layers, `${VAR}` expanded. Holds secrets. */
  effective(): Record<string, unknown>
  /** A copy of the user's own document, as written. */
  user(): Record<string, unknown>
  readonly problems: readonly ConfigProblem[]
  /** Set when the file could not be used: all its settings are being ignored. */
  readonly broken?: BrokenFile
  readonly path: string
}

export interface LoadOptions {
  readonly home: Home
  readonly environment: Environment
  readonly invocation?: Partial<Record<SettingKey, unknown>>
  readonly clock?: Clock
}

/** Never fails: problems with the file or a value are reported, and the default is used instead. */
export async function loadConfig(options: LoadOptions): Promise<Config> {
  const { home, environment } = options
  const ignored = environment.truthy("HERMES_IGNORE_USER_CONFIG") || environment.truthy("HERMES_SAFE_MODE")
  const file = ignored ? { kind: "absent" as const } : await readConfigFile(home, options.clock ?? systemClock)
  const raw: Tree = file.kind === "parsed" ? file.tree : {}
  const config = assemble(raw, options)
  const found = file.kind === "parsed" ? [...file.problems, ...config.problems] : config.problems
  const complete = { ...config, problems: found, path: home.file("config.yaml") }
  return file.kind === "broken" ? { ...complete, broken: file.failure } : complete
}

/** Combines the layers on top of the parsed document. */
function assemble(raw: Tree, { environment, invocation = {} }: LoadOptions): Omit<Config, "path" | "broken"> {
  const problems: ConfigProblem[] = []
  const expanded = expandVariables(normalizeLegacySettings(raw), (name) => environment.get(name))
  const user = isRecord(expanded) ? expanded : {}
  const merged = mergeTrees(defaultsUnder(Object.keys(user)), user, (path) => problems.push(nullProblem(path)))
  const checked = checkTypes(merged, user)
  problems.push(...checked.problems, ...validateDocument(raw, checked.tree))
  let tree = checked.tree
  const apply = (overrides: readonly Override[]): readonly string[] =>
    overrides.flatMap((override) => {
      const accepted = readOverride(override)
      if (accepted === undefined) problems.push(overrideProblem(override))
      else tree = withValueAt(withRootOf(override.path, tree), override.path, accepted.value)
      return accepted === undefined ? [] : [override.path]
    })
  const environmentPaths = apply(environmentOverrides(environment, user))
  const invocationPaths = apply(invocationOverrides(invocation))
  const touched = deepFreeze(tree)
  const layers = { invocationPaths, environmentPaths, user, rejected: checked.rejected }
  const get: Config["get"] = (key) =>
    Object.hasOwn(touched, rootOf(key)) ? readSetting(key, touched) : settingOf(key).default
  problems.push(...validateSettings(get), ...invalidSwitches(environment))
  return {
    get,
    lookup: (path) => valueAt(withRootOf(path, touched), path),
    origin: (path) => originOf(path, layers),
    effective: () => structuredClone({ ...treeFrom(defaultsOf(settingEntries())), ...touched }),
    user: () => structuredClone({ ...raw }),
    problems,
  }
}

function invocationOverrides(invocation: Partial<Record<SettingKey, unknown>>): readonly Override[] {
  const given = Object.entries(invocation).filter(([, value]) => value !== undefined)
  return given.map(([path, value]) => ({ path, value, source: "the command line" }))
}

function readSetting<K extends SettingKey>(key: K, tree: Tree): SettingValue<K> {
  const setting = settingOf(key)
  return setting.read(valueAt(tree, key)) ?? setting.default
}

/**
 * Builds only the sections that are in use: building all four hundred defaults would take longer than opening the session
 * database.
 */
function defaultsUnder(roots: readonly string[]): Tree {
  return treeFrom(roots.flatMap((root) => defaultsOf(settingsUnder(root))))
}

function defaultsOf(settings: readonly (readonly [string, Setting])[]): readonly (readonly [string, unknown])[] {
  return settings.map(([key, setting]) => [key, setting.default] as const)
}

function withRootOf(path: string, tree: Tree): Tree {
  const root = rootOf(path)
  return Object.hasOwn(tree, root) ? tree : { ...tree, ...defaultsUnder([root]) }
}

function rootOf(path: string): string {
  const dot = path.indexOf(".")
  return dot === -1 ? path : path.slice(0, dot)
}

interface Checked {
  readonly tree: Tree
  readonly problems: readonly ConfigProblem[]
  readonly rejected: ReadonlySet<string>
}

/** Checks each value the user wrote; an invalid one is reported and replaced by its default. */
function checkTypes(merged: Tree, user: Tree): Checked {
  if (Object.keys(user).length === 0) return { tree: merged, problems: [], rejected: new Set() }
  let tree = merged
  const problems: ConfigProblem[] = []
  const rejected = new Set<string>()
  const check = (path: string, setting: Setting): void => {
    const given = valueAt(merged, path)
    if (given === undefined) return
    const value = setting.read(given)
    if (value === undefined) {
      problems.push(typeProblem(path, setting, given))
      rejected.add(path)
      tree = withValueAt(tree, path, setting.default)
    } else if (!isRecord(value) && value !== given) {
      if (typeof given === "number" && typeof value === "number") problems.push(rangeProblem(path, given, value))
      tree = withValueAt(tree, path, value)
    }
    for (const [name, field] of Object.entries(setting.fields ?? {})) check(`${path}.${name}`, field)
  }
  const settings = Object.keys(user).flatMap(settingsUnder)
  for (const path of brokenSections(user, settings)) {
    problems.push(sectionProblem(path, settings))
    rejected.add(path)
    tree = withValueAt(tree, path, valueAt(defaultsUnder([rootOf(path)]), path))
  }
  for (const [key, setting] of settings) if (hasPath(user, key)) check(key, setting)
  return { tree, problems, rejected }
}

/** Sections such as `terminal` that have a single value instead of settings. */
function brokenSections(user: Tree, settings: readonly (readonly [string, Setting])[]): readonly string[] {
  const sections = new Set(settings.flatMap(([key]) => parents(key)))
  return [...sections].filter((path) => {
    const value = valueAt(user, path)
    return value !== undefined && value !== null && !isRecord(value)
  })
}

function parents(key: string): string[] {
  const segments = key.split(".")
  return segments.slice(0, -1).map((_, index) => segments.slice(0, index + 1).join("."))
}

/** The typed value, undefined when it is invalid. A number out of range is clamped, as in the file. */
function readOverride({ path, value }: Override): { readonly value: unknown } | undefined {
  if (!isSettingKey(path)) return { value }
  const setting: Setting = settingOf(path)
  const read = setting.read(value)
  return read === undefined ? undefined : { value: read }
}

function originOf(
  path: string,
  layers: {
    readonly invocationPaths: readonly string[]
    readonly environmentPaths: readonly string[]
    readonly user: Tree
    readonly rejected: ReadonlySet<string>
  },
): SettingsLayer {
  const covers = (set: string) => set === path || path.startsWith(`${set}.`)
  if (layers.invocationPaths.some(covers)) return "invocation"
  if (layers.environmentPaths.some(covers)) return "environment"
  return hasPath(layers.user, path) && !layers.rejected.has(path) ? "file" : "default"
}

function deepFreeze(tree: Tree): Tree {
  for (const value of Object.values(tree)) {
    if (Array.isArray(value)) for (const item of Object.freeze(value)) if (isRecord(item)) deepFreeze(item)
    if (isRecord(value)) deepFreeze(value)
  }
  return Object.freeze(tree)
}

function nullProblem(path: string): ConfigProblem {
  return {
    severity: "warning",
    path,
    message: `\`${path}\` is empty but must be a mapping; its defaults are used`,
    fix: `remove the line or write settings under \`${path}\``,
  }
}

function sectionProblem(path: string, settings: readonly (readonly [string, Setting])[]): ConfigProblem {
  const isStrict = settings.some(([key, setting]) => setting.strict === true && key.startsWith(`${path}.`))
  return {
    severity: "error",
    path,
    message: `\`${path}\` must be a mapping of settings${isStrict ? "" : "; its defaults are used"}`,
    fix: `write the settings under \`${path}:\`, one per line`,
    ...(isStrict ? { blocksStart: true } : {}),
  }
}

function typeProblem(path: string, setting: Setting, given: unknown): ConfigProblem {
  const isStrict = setting.strict === true
  return {
    severity: isStrict || setting.values === undefined ? "error" : "warning",
    path,
    message: `\`${path}\` is ${describe(given, setting)}${isStrict ? "" : `; the default ${JSON.stringify(setting.default)} is used`}`,
    fix: `use ${expectedValue(setting)}${nearestChoice(given, setting)}`,
    ...(isStrict ? { blocksStart: true } : {}),
  }
}

function rangeProblem(path: string, given: number, used: number): ConfigProblem {
  const fix = `use a value within the range; ${used} is the nearest`
  return { severity: "warning", path, message: `\`${path}\` is ${given}, which is out of range; ${used} is used`, fix }
}

function overrideProblem({ path, source, value }: Override): ConfigProblem {
  const setting: Setting | undefined = isSettingKey(path) ? settingOf(path) : undefined
  const isStrict = setting?.strict === true
  const expected = setting === undefined ? "another value" : expectedValue(setting) + nearestChoice(value, setting)
  return {
    severity: isStrict ? "error" : "warning",
    path,
    message: `the value of ${source} is invalid for \`${path}\`${isStrict ? "" : " and is ignored"}`,
    fix: `use ${expected}`,
    ...(isStrict ? { blocksStart: true } : {}),
  }
}

const MAX_SHOWN_CHARS = 40

/** Describes a value. Text is shown only where a setting has a list of values; elsewhere it may be a secret. */
function describe(value: unknown, { values }: Setting): string {
  if (typeof value === "string" && values !== undefined && value.length <= MAX_SHOWN_CHARS) return JSON.stringify(value)
  if (value === null) return "null"
  if (Array.isArray(value)) return "a list"
  if (isRecord(value)) return "a mapping"
  return typeof value === "string" ? "text that is not valid here" : `the ${typeof value} ${JSON.stringify(value)}`
}
