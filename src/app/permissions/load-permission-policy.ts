import { join } from "node:path"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { readRegularFile, UnusableFileError } from "../../base/regular-file.ts"
import { explainSystemError, isNotFound } from "../../base/system-error.ts"
import type { Home } from "../../config/home.ts"
import type { Config } from "../../config/load-config.ts"
import { configuredEscalation, configuredProfile } from "../../policy/permission-profile.ts"
import type { PermissionPolicy } from "../../policy/rules/permission-policy.ts"
import type { RuleLayer, RulePattern, ToolRule } from "../../policy/rules/permission-rules.ts"
import { BUILT_IN_PROFILES } from "../../policy/rules/profiles.ts"
import {
  readPermissionsDocument,
  readPlatform,
  readProfiles,
  readRestrictions,
  readRules,
} from "../../policy/rules/read-rules.ts"
import { checkNotCutOff } from "./cut-off-file.ts"

export interface PolicySources {
  readonly config: Config
  readonly home: Home
  /** The workspace on this machine; undefined when it is elsewhere. */
  readonly workspaceRoot: string | undefined
  /** The platform of the session, for `approvals.platforms`. */
  readonly platform: string
  /** `--allow` and `--deny`. */
  readonly flags?: PermissionFlags
}

export interface PermissionFlags {
  readonly allow: readonly RulePattern[]
  readonly deny: readonly RulePattern[]
}

export interface LoadedPolicy {
  readonly policy: PermissionPolicy
  /** The profile of the settings, with the override of the platform. */
  readonly profile: string
}

/**
 * Reads every source of permission rules. Fails with a sentence when one of them cannot be used: without it, the agent might do more
 * than the user allowed. With a broken config.yaml the policy denies every call, because a user may still want to talk.
 */
export async function loadPermissionPolicy(sources: PolicySources): Promise<Result<LoadedPolicy>> {
  const { config, home, platform, flags, workspaceRoot } = sources
  const profiles = readProfiles(config.get("approvals.profiles"), "approvals.profiles")
  if (!profiles.ok) return unusable("config.yaml", profiles.error)
  const permanent = readRules(config.get("approvals.rules"), "approvals.rules")
  if (!permanent.ok) return unusable("config.yaml", permanent.error)
  const override = readPlatform(config.get("approvals.platforms"), platform, "approvals.platforms")
  if (!override.ok) return unusable("config.yaml", override.error)
  const own = await readFile(home.file("permissions.yaml"), (tree) =>
    readPermissionsDocument(tree, platform, "permissions.yaml"),
  )
  if (!own.ok) return unusable(home.display(home.file("permissions.yaml")), own.error)
  const ofSettings = [...permanent.value, ...override.value.rules, ...profiles.value.flatMap(({ rules }) => rules)]
  const ofFile = [...(own.value?.rules ?? []), ...(own.value?.platform.rules ?? [])]
  for (const file of [
    ...(config.broken === undefined ? [{ name: "config.yaml", rules: ofSettings }] : []),
    { name: "permissions.yaml", rules: ofFile },
  ]) {
    const whole = checkNotCutOff(home, file)
    if (!whole.ok) return unusable(home.display(home.file(file.name)), whole.error)
  }
  const projectPath = workspaceRoot === undefined ? undefined : join(workspaceRoot, ".hermes/permissions.yaml")
  const project =
    projectPath === undefined
      ? ok(undefined)
      : await readFile(projectPath, (tree) => readRestrictions(tree, ".hermes/permissions.yaml"))
  if (!project.ok) return unusable(projectPath ?? "", project.error)
  const known = new Map([...BUILT_IN_PROFILES, ...profiles.value.map((profile) => [profile.name, profile] as const)])
  const profile = override.value.profile ?? own.value?.platform.profile ?? configuredProfile(config)
  if (!known.has(profile))
    return unusable(
      "approvals.platforms",
      `there is no permission profile "${profile}"; use one of ${[...known.keys()].join(", ")}`,
    )
  const layers: readonly RuleLayer[] = [
    { name: "cli", rules: flagRules(flags) },
    { name: "platform", rules: [...override.value.rules, ...(own.value?.platform.rules ?? [])] },
    { name: "project", rules: project.value ?? [] },
    { name: "settings", rules: permanent.value },
    { name: "home", rules: own.value?.rules ?? [] },
  ]
  return ok({
    profile,
    policy: {
      profiles: known,
      layers,
      allowedKeys: new Set(config.get("command_allowlist").map((key) => LEGACY_KEYS[key] ?? key)),
      planAllowsWeb: config.get("approvals.plan_allow_web"),
      escalation: configuredEscalation(config),
      ...(config.broken === undefined ? {} : { unreadable: UNREADABLE }),
    },
  })
}

const UNREADABLE =
  "BLOCKED: config.yaml cannot be read, so the user's permission rules are not known. Tell the user to repair it (`hermes config check`)."

/** Names in allow-lists of early releases that stand for exactly one kind of command. */
const LEGACY_KEYS: Readonly<Record<string, string>> = { mkfs: "format filesystem" }

function unusable(source: string, problem: string): Result<LoadedPolicy> {
  return fail(
    `the permission rules in ${source} cannot be used: ${problem}. Repair them first, because without them Hermes might do more than you allow`,
  )
}

function flagRules(flags: PermissionFlags | undefined): readonly ToolRule[] {
  const rule = (decision: "allow" | "deny") => (pattern: RulePattern) =>
    ({ pattern, decision, classifier: "regex", inheritable: true }) as const
  return [...(flags?.deny ?? []).map(rule("deny")), ...(flags?.allow ?? []).map(rule("allow"))]
}

const MAX_FILE_BYTES = 1_000_000

/** Reads a file with rules; undefined when there is none. The YAML library is loaded only for a file that exists. */
async function readFile<T>(
  path: string,
  read: (tree: Readonly<Record<string, unknown>>) => Result<T>,
): Promise<Result<T | undefined>> {
  let bytes: Buffer
  try {
    bytes = readRegularFile(path, { maxBytes: MAX_FILE_BYTES }).bytes
  } catch (cause) {
    if (isNotFound(cause)) return ok(undefined)
    return fail(cause instanceof UnusableFileError ? cause.message : explainSystemError(cause))
  }
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
  } catch {
    return fail("the file is not UTF-8 text")
  }
  const { parseYaml } = await import("../../config/document/yaml-document.ts")
  const parsed = parseYaml(text)
  if (!parsed.ok) return fail(`line ${parsed.error.line}, column ${parsed.error.column}: ${parsed.error.message}`)
  const [problem] = parsed.value.problems
  return problem === undefined ? read(parsed.value.tree) : fail(problem.message)
}
