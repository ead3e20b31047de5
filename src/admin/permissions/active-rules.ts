import { resolve } from "node:path"

import { loadPermissionPolicy } from "../../app/permissions/load-permission-policy.ts"
import { ok, type Result } from "../../base/result.ts"
import { LAYER_NAMES } from "../../policy/decide.ts"
import { shownPattern } from "../../policy/rules/permission-rules.ts"
import type { RuleLayer } from "../../policy/rules/permission-rules.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { loadSettings } from "../settings/load-settings.ts"

export interface ActiveRules {
  readonly profile: string
  readonly profiles: readonly string[]
  readonly rules: readonly ActiveRule[]
  /** Kinds of commands that are not asked about: `command_allowlist`. */
  readonly allowedKinds: readonly string[]
}

export interface ActiveRule {
  readonly decision: string
  readonly pattern: string
  readonly layer: string
  /** Where it is written. */
  readonly source: string
}

/** The profile and every rule that a new session in this directory would have. */
export async function activeRules(context: HomeContext, cwd: string): Promise<Result<ActiveRules, AdminFailure>> {
  const { home } = context
  const { config } = await loadSettings(context)
  const workspaceRoot = config.get("terminal.backend") === "local" ? resolve(cwd) : undefined
  const loaded = await loadPermissionPolicy({ config, home, workspaceRoot, platform: "cli" })
  if (!loaded.ok) return failed(loaded.error)
  const { policy, profile } = loaded.value
  const layers: readonly RuleLayer[] = [
    ...policy.layers,
    { name: "profile", rules: policy.profiles.get(profile)?.rules ?? [] },
  ]
  return ok({
    profile,
    profiles: [...policy.profiles.keys()],
    rules: layers.flatMap(({ name, rules }) =>
      rules.map(({ decision, pattern }) => ({
        decision,
        pattern: shownPattern(pattern),
        layer: name,
        source: LAYER_NAMES[name],
      })),
    ),
    allowedKinds: [...policy.allowedKeys],
  })
}
