import { isAbsolute } from "node:path"

import { isRecord } from "../../base/json.ts"
import { nearest } from "../../base/nearest-name.ts"
import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { parsePattern } from "./parse-pattern.ts"
import { inDirectory } from "./permission-rules.ts"
import type { ProfileDefinition, RuleClassifier, RuleDecision, ToolRule } from "./permission-rules.ts"
import { BUILT_IN_PROFILES } from "./profiles.ts"

const DECISIONS = ["allow", "deny", "ask", "auto"] as const
const CLASSIFIERS = ["regex", "ml", "none"] as const
const SCOPES = ["session", "task", "permanent"] as const
const DEFAULTS = ["detector", "ask", "allow", "deny"] as const

/**
 * Reads rules from a document: a list of `{pattern, decision}`, or a mapping from pattern to decision. Every entry becomes a rule or
 * fails the whole document: a dropped entry might have been a restriction. The error is a sentence that names the entry.
 */
export function readRules(value: unknown, where: string): Result<readonly ToolRule[]> {
  if (value === undefined || value === null) return ok([])
  if (Array.isArray(value)) return collect(value.map((entry, index) => readRule(entry, `${where}[${index}]`)))
  if (!isRecord(value)) return fail(`\`${where}\` must be a list of rules, each with \`pattern\` and \`decision\``)
  return collect(
    Object.entries(value).map(([pattern, decision]) =>
      isRecord(decision)
        ? readRule({ ...decision, pattern }, `${where}.${pattern}`)
        : readRule({ pattern, decision }, `${where}.${pattern}`),
    ),
  )
}

const RULE_FIELDS = ["pattern", "decision", "classifier", "inheritable", "directory"]

function readRule(entry: unknown, where: string): Result<ToolRule> {
  if (!isRecord(entry)) return fail(`\`${where}\` must be a rule with \`pattern\` and \`decision\``)
  const unknown = unknownField(entry, RULE_FIELDS, where)
  if (unknown !== undefined) return fail(unknown)
  if (typeof entry["pattern"] !== "string") return fail(`\`${where}\` has no \`pattern\``)
  const pattern = parsePattern(entry["pattern"])
  if (!pattern.ok) return fail(`${pattern.error} (in \`${where}\`)`)
  const decision = oneOf<RuleDecision>(entry["decision"], DECISIONS)
  if (decision === undefined) return fail(`\`${where}\` needs a \`decision\`: ${DECISIONS.join(", ")}`)
  const classifier = oneOf<RuleClassifier>(entry["classifier"] ?? "regex", CLASSIFIERS)
  if (classifier === undefined) return fail(`\`classifier\` of \`${where}\` must be one of ${CLASSIFIERS.join(", ")}`)
  const { inheritable = true } = entry
  if (typeof inheritable !== "boolean") return fail(`\`inheritable\` of \`${where}\` must be true or false`)
  const { directory } = entry
  if (directory === undefined) return ok({ pattern: pattern.value, decision, classifier, inheritable })
  if (typeof directory !== "string" || !isAbsolute(directory))
    return fail(`\`directory\` of \`${where}\` must be an absolute path`)
  return ok({ pattern: inDirectory(pattern.value, directory), decision, classifier, inheritable })
}

const PROFILE_FIELDS = ["tool_rules", "scope", "inheritable", "default"]

/** Reads `approvals.profiles`. */
export function readProfiles(value: unknown, where: string): Result<readonly ProfileDefinition[]> {
  if (value === undefined || value === null) return ok([])
  if (!isRecord(value)) return fail(`\`${where}\` must be a mapping from names to profiles`)
  return collect(Object.entries(value).map(([name, entry]) => readProfile(name, entry, `${where}.${name}`)))
}

function readProfile(name: string, entry: unknown, where: string): Result<ProfileDefinition> {
  if (BUILT_IN_PROFILES.has(name)) return fail(`\`${where}\` has the name of a built-in profile; choose another name`)
  if (!isRecord(entry)) return fail(`\`${where}\` must be a mapping with \`tool_rules\` and \`default\``)
  const unknown = unknownField(entry, PROFILE_FIELDS, where)
  if (unknown !== undefined) return fail(unknown)
  const rules = readRules(entry["tool_rules"], `${where}.tool_rules`)
  if (!rules.ok) return rules
  const scope = oneOf(entry["scope"] ?? "session", SCOPES)
  if (scope === undefined) return fail(`\`scope\` of \`${where}\` must be one of ${SCOPES.join(", ")}`)
  const initial = oneOf(entry["default"] ?? "detector", DEFAULTS)
  if (initial === undefined) return fail(`\`default\` of \`${where}\` must be one of ${DEFAULTS.join(", ")}`)
  const { inheritable = true } = entry
  if (typeof inheritable !== "boolean") return fail(`\`inheritable\` of \`${where}\` must be true or false`)
  return ok({ name, rules: rules.value, scope, inheritable, default: initial })
}

/** What `approvals.platforms.<platform>` sets for the sessions of a platform. */
export interface PlatformOverride {
  readonly profile: string | undefined
  readonly rules: readonly ToolRule[]
}

const CHAT_TYPES = ["dm", "group", "channel"]
const PLATFORM_FIELDS = ["profile", "tool_rules", "rules", "allow_loosen", "approvers", ...CHAT_TYPES]

/** Reads the overrides of one platform and checks those of all others. */
export function readPlatform(value: unknown, platform: string, where: string): Result<PlatformOverride> {
  if (value === undefined || value === null) return ok({ profile: undefined, rules: [] })
  if (!isRecord(value)) return fail(`\`${where}\` must be a mapping from platforms to overrides`)
  const read = collect(
    Object.entries(value).map(([name, entry]) => {
      const override = readOverride(entry, `${where}.${name}`)
      return override.ok ? ok({ name, override: override.value }) : override
    }),
  )
  if (!read.ok) return read
  return ok(read.value.find(({ name }) => name === platform)?.override ?? { profile: undefined, rules: [] })
}

function readOverride(entry: unknown, where: string): Result<PlatformOverride> {
  if (!isRecord(entry)) return fail(`\`${where}\` must be a mapping with \`profile\` or \`tool_rules\``)
  const unknown = unknownField(entry, PLATFORM_FIELDS, where)
  if (unknown !== undefined) return fail(unknown)
  for (const type of CHAT_TYPES) {
    const nested = entry[type] === undefined ? undefined : readOverride(entry[type], `${where}.${type}`)
    if (nested?.ok === false) return nested
  }
  const { profile } = entry
  if (profile !== undefined && profile !== null && typeof profile !== "string")
    return fail(`\`profile\` of \`${where}\` must be the name of a profile`)
  const rules = readRules(entry["tool_rules"], `${where}.tool_rules`)
  if (!rules.ok) return rules
  const more = readRules(entry["rules"], `${where}.rules`)
  return more.ok ? ok({ profile: profile ?? undefined, rules: [...rules.value, ...more.value] }) : more
}

/** The rules of `permissions.yaml`: a mapping from pattern to decision, or `rules:`, and `platforms:`. */
export function readPermissionsDocument(
  document: Readonly<Record<string, unknown>>,
  platform: string,
  where: string,
): Result<{ readonly rules: readonly ToolRule[]; readonly platform: PlatformOverride }> {
  const { rules, platforms, ...patterns } = document
  const listed = readRules(rules, `${where}: rules`)
  if (!listed.ok) return listed
  const mapped = readRules(patterns, where)
  if (!mapped.ok) return mapped
  const override = readPlatform(platforms, platform, `${where}: platforms`)
  if (!override.ok) return override
  return ok({ rules: [...listed.value, ...mapped.value], platform: override.value })
}

/** Only restrictions of an untrusted file count. Its other entries are not even parsed. */
export function readRestrictions(
  document: Readonly<Record<string, unknown>>,
  where: string,
): Result<readonly ToolRule[]> {
  const { rules, platforms: _platforms, ...patterns } = document
  if (rules !== undefined && rules !== null && !Array.isArray(rules) && !isRecord(rules))
    return fail(`\`${where}: rules\` must be a list of rules`)
  const listed = readRules(Array.isArray(rules) ? rules.filter(mayRestrict) : restrictionsOf(rules), `${where}: rules`)
  if (!listed.ok) return listed
  const mapped = readRules(restrictionsOf(patterns), where)
  return mapped.ok ? ok([...listed.value, ...mapped.value]) : mapped
}

function restrictionsOf(value: unknown): unknown {
  if (!isRecord(value)) return value
  return Object.fromEntries(Object.entries(value).filter(([, decision]) => mayRestrict({ decision })))
}

/** An entry that is not clearly a permission is read, so that a mistake in a restriction is reported. */
function mayRestrict(entry: unknown): boolean {
  const decision = isRecord(entry) && isRecord(entry["decision"]) ? entry["decision"]["decision"] : undefined
  const word = decision ?? (isRecord(entry) ? entry["decision"] : undefined)
  return word !== "allow" && word !== "auto"
}

function oneOf<V extends string>(value: unknown, values: readonly V[]): V | undefined {
  const word = typeof value === "string" ? value.trim().toLowerCase() : undefined
  return values.find((known) => known === word)
}

function unknownField(
  entry: Readonly<Record<string, unknown>>,
  known: readonly string[],
  where: string,
): string | undefined {
  const name = Object.keys(entry).find((field) => !known.includes(field))
  if (name === undefined) return undefined
  const similar = nearest(name, known)
  return `\`${where}\` has an unknown field \`${name}\`${similar === undefined ? "" : `; did you mean \`${similar}\`?`}`
}

function collect<T>(results: readonly Result<T>[]): Result<readonly T[]> {
  const values: T[] = []
  for (const result of results) {
    if (!result.ok) return result
    values.push(result.value)
  }
  return ok(values)
}
