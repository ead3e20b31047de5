import { BUILT_IN_POLICY } from "../policy/rules/permission-policy.ts"
import type { PermissionPolicy } from "../policy/rules/permission-policy.ts"
import { RULE_LAYERS } from "../policy/rules/permission-rules.ts"
import type {
  ProfileDefinition,
  RuleDecision,
  RuleLayer,
  RulePattern,
  ToolRule,
} from "../policy/rules/permission-rules.ts"
import { unknownProfile } from "../policy/rules/profiles.ts"
import type { EffectiveRules } from "../policy/policy-request.ts"
import type { PermissionProfile } from "../policy/permission-profile.ts"
import type { Result } from "../base/result.ts"
import type { Origin } from "./origin.ts"

/** What a session may do, and whether a user is present to ask. Everything that is added here ends with the session. */
export interface Permissions {
  /** The rules for the next call. A call that already waits for approval keeps its own. */
  rules(): EffectiveRules
  /** Allows the same call again, and nothing else. The key is the digest of everything the user was shown. */
  grant(exactCall: string): void
  isGranted(exactCall: string): boolean
  /** How many exact calls are granted. */
  readonly grants: number
  readonly profile: PermissionProfile
  /** The last profile other than `full-auto`, to which `/yolo` returns. */
  readonly askingProfile: PermissionProfile
  readonly profiles: readonly PermissionProfile[]
  /** Applies from the next call on; grants stay. Returns false for a profile that does not exist. */
  setProfile(profile: PermissionProfile): boolean
  /** A rule of this session. The newest is asked first. */
  addRule(decision: RuleDecision, pattern: RulePattern): void
  /** Removes the rules and grants of this session and returns to the profile it started with. */
  reset(): void
  /** Saves a rule permanently. Absent where there is no configuration to write. */
  readonly saveRule?: (pattern: RulePattern) => Promise<Result<undefined>>
  /** The same denials for work that nobody watches. It inherits no grants and cannot loosen anything. */
  restricted(): Permissions
  /** For a sub-agent: the same denials, the other rules as far as they may be inherited, and a copy of the grants. Its profile is fixed. */
  inherited(how: { readonly headless: Headless }): Permissions
  attended(): boolean
  /** What "ask" means without a user. */
  readonly headless: Headless
  /** Who hears of what was denied for lack of a user: a sub-agent reports to the session that started it. */
  readonly reportsTo: "user" | "parent"
  readonly askTimeoutMs: number
}

/** `approve-detected` approves what the detector alone asks about. */
export type Headless = "deny" | "approve" | "approve-detected"

/** A change of what the session may do. */
export type PermissionEvent =
  | { readonly kind: "profile_change"; readonly old: string; readonly new: string }
  | { readonly kind: "grant"; readonly scope: "session" | "permanent"; readonly rule: string }
  | { readonly kind: "session_rule"; readonly decision: RuleDecision; readonly rule: string }
  | { readonly kind: "permissions_reset" }

export interface PermissionOptions {
  readonly profile: PermissionProfile
  readonly policy?: PermissionPolicy
  readonly origin: Pick<Origin, "attended">
  readonly headless: Headless
  readonly askTimeoutMs: number
  /** The only file that plan mode may write. */
  readonly planFile?: string
  /** Of a sub-agent: exact calls that the user granted before it started. Nothing can loosen its rules. */
  readonly inheritedGrants?: ReadonlySet<string>
  readonly saveRule?: (pattern: RulePattern) => Promise<Result<undefined>>
  readonly observe?: (event: PermissionEvent) => void
}

export function createPermissions(options: PermissionOptions): Permissions {
  const { policy = BUILT_IN_POLICY, saveRule, observe } = options
  const isInherited = options.inheritedGrants !== undefined
  const granted = new Set<string>(options.inheritedGrants)
  let current = options.profile
  // A session that starts in full-auto has no other profile to return to.
  const firstAsking = options.profile === "full-auto" ? "default" : options.profile
  let asking = firstAsking
  let sessionRules: readonly ToolRule[] = []
  let savedRules: readonly ToolRule[] = []
  let effective: EffectiveRules | undefined
  const profileNamed = (name: string) => policy.profiles.get(name) ?? unknownProfile(name)
  const addTo = (rules: readonly ToolRule[], decision: RuleDecision, pattern: RulePattern): readonly ToolRule[] => {
    effective = undefined
    return [{ pattern, decision, classifier: "regex", inheritable: true }, ...rules]
  }
  return {
    rules: () =>
      (effective ??= {
        profile: profileNamed(current),
        layers: inOrder([
          { name: "session", rules: sessionRules },
          { name: "settings", rules: savedRules },
          { name: "profile", rules: profileNamed(current).rules },
          ...policy.layers,
        ]),
        allowedKeys: policy.allowedKeys,
        planAllowsWeb: policy.planAllowsWeb,
        escalation: policy.escalation,
        ...(options.planFile === undefined ? {} : { planFile: options.planFile }),
        ...(policy.unreadable === undefined ? {} : { unreadable: policy.unreadable }),
      }),
    grant: (exactCall) => {
      granted.add(exactCall)
      observe?.({ kind: "grant", scope: "session", rule: exactCall })
    },
    isGranted: (exactCall) => granted.has(exactCall),
    get grants() {
      return granted.size
    },
    get profile() {
      return current
    },
    get askingProfile() {
      return asking
    },
    profiles: [...policy.profiles.keys()],
    setProfile: (profile) => {
      if (isInherited || !policy.profiles.has(profile)) return false
      observe?.({ kind: "profile_change", old: current, new: profile })
      current = profile
      if (profile !== "full-auto") asking = profile
      effective = undefined
      return true
    },
    addRule: (decision, pattern) => {
      if (isInherited && decision !== "deny") return
      sessionRules = addTo(sessionRules, decision, pattern)
      observe?.({ kind: "session_rule", decision, rule: pattern.text })
    },
    reset: () => {
      sessionRules = []
      granted.clear()
      current = options.profile
      asking = firstAsking
      effective = undefined
      observe?.({ kind: "permissions_reset" })
    },
    ...(saveRule === undefined
      ? {}
      : {
          saveRule: async (pattern) => {
            const saved = await saveRule(pattern)
            if (!saved.ok) return saved
            savedRules = addTo(savedRules, "allow", pattern)
            observe?.({ kind: "grant", scope: "permanent", rule: pattern.text })
            return saved
          },
        }),
    restricted: () =>
      createPermissions({
        ...withoutUser(options),
        ...restrictedTo(current, policy, [...sessionRules, ...savedRules]),
        headless: "deny",
      }),
    inherited: ({ headless }) =>
      createPermissions({
        ...withoutUser(options),
        ...restrictedTo(current, policy, [...sessionRules, ...savedRules]),
        headless,
        inheritedGrants: new Set(granted),
      }),
    attended: () => options.origin.attended(),
    headless: options.headless,
    reportsTo: isInherited ? "parent" : "user",
    askTimeoutMs: options.askTimeoutMs,
  }
}

/** The plan file belongs to the conversation with the user, and only a user saves rules. */
function withoutUser({ planFile: _plan, saveRule: _save, ...options }: PermissionOptions): PermissionOptions {
  return { ...options, origin: { attended: () => false }, askTimeoutMs: 0 }
}

/**
 * All denials, and the other rules that may be inherited. A profile that may not be inherited is replaced by the default one, unless it is
 * stricter.
 */
function restrictedTo(
  current: PermissionProfile,
  policy: PermissionPolicy,
  ownRules: readonly ToolRule[],
): Pick<PermissionOptions, "profile" | "policy"> {
  const profile = policy.profiles.get(current) ?? unknownProfile(current)
  const inherited = (rules: readonly ToolRule[]): readonly ToolRule[] =>
    rules.filter(({ decision, inheritable }) => decision === "deny" || inheritable)
  const layers: readonly RuleLayer[] = [{ name: "session", rules: ownRules } as const, ...policy.layers].map(
    ({ name, rules }) => ({ name, rules: inherited(rules) }),
  )
  if (profile.inheritable || STRICTER_THAN_DEFAULT.has(profile.default)) {
    const profiles = new Map(policy.profiles).set(current, { ...profile, rules: inherited(profile.rules) })
    return { profile: current, policy: { ...policy, profiles, layers } }
  }
  const denials = profile.rules.filter(({ decision }) => decision === "deny")
  return { profile: "default", policy: { ...policy, layers: [...layers, { name: "profile", rules: denials }] } }
}

const STRICTER_THAN_DEFAULT: ReadonlySet<ProfileDefinition["default"]> = new Set(["plan", "ask", "deny"])

function inOrder(layers: readonly RuleLayer[]): readonly RuleLayer[] {
  return RULE_LAYERS.flatMap((name) => layers.filter((layer) => layer.name === name && layer.rules.length > 0))
}
