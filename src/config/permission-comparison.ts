import { isRecord } from "../base/json.ts"

const PROFILE_ORDER = ["plan", "accept-edits", "default", "auto", "full-auto"]
const LEGACY_NAMES: Readonly<Record<string, string>> = { manual: "default", smart: "auto", off: "full-auto" }

const PROFILE_REASONS: Readonly<Record<string, string>> = {
  "accept-edits": "Hermes then changes files in the working directory without asking.",
  default: "Hermes then changes files and runs harmless commands without asking.",
  auto: "A model then decides about risky commands instead of you.",
  "full-auto": "Hermes then runs every command and changes every file without asking; only the floor still refuses.",
}

/** What a change of the permission profile takes away; undefined when it takes nothing. Undefined and null stand for no profile. */
export function compareProfiles(before: unknown, after: unknown): string | undefined {
  const [old, chosen] = [profileName(before), profileName(after)]
  if (chosen === old || chosen === "plan" || old === "full-auto") return undefined
  if (chosen === undefined) return "The profile of `approvals.mode` then applies, which may ask less."
  const rank = PROFILE_ORDER.indexOf(chosen)
  if (rank === -1) return `The profile \`${chosen}\` is your own: what it allows, Hermes then does without asking.`
  // A profile of the user's own, or none: it may have been stricter than any but `plan`.
  const isStricter = old !== undefined && PROFILE_ORDER.includes(old) && rank <= PROFILE_ORDER.indexOf(old)
  const isUsual = old === undefined && rank <= PROFILE_ORDER.indexOf("default")
  return isStricter || isUsual ? undefined : PROFILE_REASONS[chosen]
}

function profileName(value: unknown): string | undefined {
  if (typeof value !== "string" || value === "") return undefined
  return LEGACY_NAMES[value] ?? value
}

const DECISION_ORDER = ["deny", "ask", "auto", "allow", "allow, unchecked"]
const DEFAULT_ORDER = ["deny", "ask", "detector", "allow"]

interface Permission {
  /** Where it is and what it matches. */
  readonly id: string
  readonly kind: "rule" | "default" | "profile"
  readonly value: string
}

/**
 * What a change of permission rules takes away; undefined when it takes nothing. Compares every rule, default and profile in the values, whatever their
 * layout is: a list, a mapping from pattern to decision, profiles or platforms by name.
 */
export function compareRules(before: unknown, after: unknown): string | undefined {
  const old = permissionsIn(before, "")
  const changed = permissionsIn(after, "")
  const oldById = new Map(old.map((permission) => [permission.id, permission]))
  const ids = new Set(changed.map(({ id }) => id))
  const looser = changed.find((permission) => isLooser(permission, oldById.get(permission.id)?.value))
  if (looser !== undefined) return permissionReason(looser)
  const removed = old.find(({ id, kind, value }) => !ids.has(id) && kind === "rule" && isRestriction(value))
  if (removed !== undefined) return `The rule \`${patternOf(removed)}\` (${removed.value}) then no longer applies.`
  const kept = old.filter(({ id }) => ids.has(id)).map(({ id }) => id)
  const reordered = changed.filter(({ id }) => oldById.has(id)).some(({ id }, index) => id !== kept[index])
  return reordered ? "The rules are then asked in another order, and the first one that matches decides." : undefined
}

function isLooser({ kind, value }: Permission, old: string | undefined): boolean {
  if (kind === "profile") return compareProfiles(old, value) !== undefined
  const order = kind === "rule" ? DECISION_ORDER : DEFAULT_ORDER
  const fallback = kind === "rule" ? "ask" : "detector"
  return order.indexOf(value) > order.indexOf(old ?? fallback)
}

function isRestriction(value: string): boolean {
  return value === "deny" || value === "ask"
}

function permissionReason(permission: Permission): string {
  if (permission.kind === "profile")
    return PROFILE_REASONS[permission.value] ?? `The profile \`${permission.value}\` then applies.`
  if (permission.kind === "default")
    return permission.value === "allow"
      ? "Hermes then does without asking what no rule mentions."
      : "Hermes then asks less about what no rule mentions."
  const pattern = patternOf(permission)
  if (permission.value === "ask") return `\`${pattern}\` is then no longer denied.`
  return permission.value === "auto"
    ? `A model then decides about \`${pattern}\` instead of you.`
    : `Hermes then does what \`${pattern}\` matches without asking.`
}

function patternOf({ id }: Permission): string {
  return id.slice(id.indexOf("\n") + 1)
}

/** Settings of a profile or a platform beside its rules. */
const OTHER_FIELDS = new Set(["scope", "inheritable", "approvers", "allow_loosen"])

function permissionsIn(value: unknown, where: string): readonly Permission[] {
  if (Array.isArray(value)) return value.flatMap((item) => permissionsIn(item, where))
  if (!isRecord(value)) return []
  if (typeof value["decision"] === "string") return [readPermission(value, where)]
  return Object.entries(value).flatMap(([name, inner]): readonly Permission[] => {
    if (OTHER_FIELDS.has(name)) return []
    if (name === "default" && typeof inner === "string")
      return [{ id: `${where}/default\n`, kind: "default", value: inner.trim().toLowerCase() }]
    if (name === "profile" && typeof inner === "string")
      return [{ id: `${where}/profile\n`, kind: "profile", value: inner }]
    if (typeof inner === "string" && !/^\d+$/u.test(name))
      return [readPermission({ pattern: name, decision: inner }, where)]
    if (isRecord(inner) && typeof inner["decision"] === "string" && typeof inner["pattern"] !== "string")
      return [readPermission({ ...inner, pattern: name }, where)]
    // The position in a list does not matter: rules are compared by what they match.
    return permissionsIn(inner, /^\d+$/u.test(name) ? where : `${where}/${name}`)
  })
}

function readPermission(rule: Readonly<Record<string, unknown>>, where: string): Permission {
  const directory = typeof rule["directory"] === "string" ? ` (in ${rule["directory"]})` : ""
  const decision = String(rule["decision"]).trim().toLowerCase()
  const value = decision === "allow" && rule["classifier"] === "none" ? "allow, unchecked" : decision
  return { id: `${where}\n${String(rule["pattern"])}${directory}`, kind: "rule", value }
}
