import { BUILT_IN_POLICY } from "../policy/rules/permission-policy.ts"
import type { PermissionPolicy } from "../policy/rules/permission-policy.ts"
import { RULE_LAYERS } from "../policy/rules/permission-rules.ts"
import type { RuleDecision, RuleLayer, RulePattern, ToolRule } from "../policy/rules/permission-rules.ts"
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
  /** The profile the session started with. */
  readonly initialProfile: PermissionProfile
  readonly profiles: readonly PermissionProfile[]
  /** Applies from the next call on; grants stay. Returns false for a profile that does not exist. */
  setProfile(profile: PermissionProfile): boolean
  /** A rule of this session. The newest is asked first. */
  addRule(decision: RuleDecision, pattern: RulePattern): void
  /** Removes the rules and grants of this session and returns to the profile it started with. */
  reset(): void
  /** Saves a rule permanently. Absent where there is no configuration to write. */
  readonly saveRule?: (pattern: RulePattern) => Promise<Result<undefined>>
  /** The same denials for work that nobody watches, such as a sub-agent. It inherits no grants and cannot loosen anything. */
  restricted(): Permissions
  attended(): boolean
  /** What "ask" means without a user. */
  readonly headless: "deny" | "approve"
  readonly askTimeoutMs: number
}

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
  readonly headless: "deny" | "approve"
  readonly askTimeoutMs: number
  /** The only file that plan mode may write. */
  readonly planFile?: string
  readonly saveRule?: (pattern: RulePattern) => Promise<Result<undefined>>
  readonly observe?: (event: PermissionEvent) => void
}

export function createPermissions(options: PermissionOptions): Permissions {
  const { policy = BUILT_IN_POLICY, saveRule, observe } = options
  const granted = new Set<string>()
  let current = options.profile
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
    initialProfile: options.profile,
    profiles: [...policy.profiles.keys()],
    setProfile: (profile) => {
      if (!policy.profiles.has(profile)) return false
      observe?.({ kind: "profile_change", old: current, new: profile })
      current = profile
      effective = undefined
      return true
    },
    addRule: (decision, pattern) => {
      sessionRules = addTo(sessionRules, decision, pattern)
      observe?.({ kind: "session_rule", decision, rule: pattern.text })
    },
    reset: () => {
      sessionRules = []
      granted.clear()
      current = options.profile
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
        ...options,
        ...restrictedTo(current, policy, sessionRules),
        origin: { attended: () => false },
        headless: "deny",
        askTimeoutMs: 0,
      }),
    attended: () => options.origin.attended(),
    headless: options.headless,
    askTimeoutMs: options.askTimeoutMs,
  }
}

/** All denials, and the other rules that may be inherited. A profile that may not be inherited is replaced by the default one. */
function restrictedTo(
  current: PermissionProfile,
  policy: PermissionPolicy,
  sessionRules: readonly ToolRule[],
): Pick<PermissionOptions, "profile" | "policy"> {
  const profile = policy.profiles.get(current) ?? unknownProfile(current)
  const inherited = ({ name, rules }: RuleLayer): RuleLayer => ({
    name,
    rules: rules.filter(({ decision, inheritable }) => decision === "deny" || inheritable),
  })
  const denials = profile.inheritable ? [] : profile.rules.filter(({ decision }) => decision === "deny")
  const layers = [...policy.layers, { name: "session", rules: sessionRules } as const].map(inherited)
  return {
    profile: profile.inheritable ? current : "default",
    policy: { ...policy, layers: [...layers, { name: "profile", rules: denials }] },
  }
}

function inOrder(layers: readonly RuleLayer[]): readonly RuleLayer[] {
  return RULE_LAYERS.flatMap((name) => layers.filter((layer) => layer.name === name && layer.rules.length > 0))
}
