import { readFileSync } from "node:fs"
import { join } from "node:path"

import { fail, ok } from "../../base/result.ts"
import type { Result } from "../../base/result.ts"
import { fingerprint } from "../../base/random-and-hash.ts"
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
import {
  checkLostRestrictions,
  profileRestrictions,
  ruleRestrictions,
  settingRestrictions,
} from "./lost-restrictions.ts"
import type { RestrictingFile } from "./lost-restrictions.ts"

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
  const projectPath = workspaceRoot === undefined ? undefined : join(workspaceRoot, ".hermes/permissions.yaml")
  const project =
    projectPath === undefined
      ? ok({ text: undefined, content: undefined })
      : await readFile(projectPath, (tree) => readRestrictions(tree, ".hermes/permissions.yaml"))
  if (!project.ok) return unusable(projectPath ?? "", project.error)
  const ofSettings = [
    ...settingRestrictions(config),
    ...ruleRestrictions([...permanent.value, ...override.value.rules]),
    ...profileRestrictions(profiles.value),
  ]
  const ofHome = [...(own.value.content?.rules ?? []), ...(own.value.content?.platform.rules ?? [])]
  const files: readonly (RestrictingFile & { readonly path: string })[] = [
    ...(config.broken === undefined ? [settingsFile(home, ofSettings)] : []),
    {
      path: home.file("permissions.yaml"),
      name: "permissions.yaml",
      text: own.value.text,
      restrictions: ruleRestrictions(ofHome),
      afterRemoval: "create it again with a comment line",
    },
    ...(projectPath === undefined || project.value.text === undefined ? [] : [projectFile(projectPath, project.value)]),
  ]
  for (const file of files) {
    const whole = checkLostRestrictions(home, file)
    if (!whole.ok) return unusable(home.display(file.path), whole.error)
  }
  const known = new Map([...BUILT_IN_PROFILES, ...profiles.value.map((profile) => [profile.name, profile] as const)])
  const profile = override.value.profile ?? own.value.content?.platform.profile ?? configuredProfile(config)
  if (!known.has(profile))
    return unusable(
      "approvals.platforms",
      `there is no permission profile "${profile}"; use one of ${[...known.keys()].join(", ")}`,
    )
  const layers: readonly RuleLayer[] = [
    { name: "cli", rules: flagRules(flags) },
    { name: "platform", rules: [...override.value.rules, ...(own.value.content?.platform.rules ?? [])] },
    { name: "project", rules: project.value.content ?? [] },
    { name: "settings", rules: permanent.value },
    { name: "home", rules: own.value.content?.rules ?? [] },
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

function settingsFile(home: Home, restrictions: readonly string[]): RestrictingFile & { readonly path: string } {
  const path = home.file("config.yaml")
  return {
    path,
    name: "config.yaml",
    text: textOf(path),
    restrictions,
    afterRemoval: "write a new one with `hermes config set approvals.mode manual`",
  }
}

/** Version control removes the file when another branch is checked out, so its absence is no damage. */
function projectFile(
  path: string,
  { text, content }: ReadFile<readonly ToolRule[]>,
): RestrictingFile & { readonly path: string } {
  const name = `workspace-${fingerprint(path)}`
  return { path, name, text, restrictions: ruleRestrictions(content ?? []) }
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

interface ReadFile<T> {
  /** Both are undefined when there is no file. */
  readonly text: string | undefined
  readonly content: T | undefined
}

/** Reads a file with rules. The YAML library is loaded only for a file that exists. */
async function readFile<T>(
  path: string,
  read: (tree: Readonly<Record<string, unknown>>) => Result<T>,
): Promise<Result<ReadFile<T>>> {
  let bytes: Buffer
  try {
    bytes = readRegularFile(path, { maxBytes: MAX_FILE_BYTES }).bytes
  } catch (cause) {
    if (isNotFound(cause)) return ok({ text: undefined, content: undefined })
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
  if (problem !== undefined) return fail(problem.message)
  const content = read(parsed.value.tree)
  return content.ok ? ok({ text, content: content.value }) : content
}

/** The settings were parsed from it already. */
function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}
