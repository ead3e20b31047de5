import { assertNever } from "../base/assert-never.ts"
import type { Access, Subject } from "../protocol/tool.ts"
import { detectCommand } from "./command-detector.ts"
import { isWithin, readRefusal, writeRefusal } from "./file-floor.ts"
import type { FloorDirectories } from "./file-floor.ts"
import type { PermissionProfile } from "./permission-profile.ts"

export interface PolicyRequest {
  readonly tool: string
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  /** Why the tool itself requires confirmation by the user. */
  readonly confirm?: string
  /** Every path subject, absolute, as written and with symbolic links resolved. */
  readonly paths: readonly { readonly literal: string; readonly real: string }[]
  readonly directories: PolicyDirectories
  /** The same directories with symbolic links resolved, so that a linked home is protected under both paths. */
  readonly realDirectories?: PolicyDirectories
}

export interface PolicyDirectories extends FloorDirectories {
  readonly workspaceRoot: string
}

export interface EffectiveRules {
  readonly profile: PermissionProfile
  /** Rules that the user allowed for this session. */
  readonly granted: ReadonlySet<string>
}

/** Names the rule and layer that made the decision. */
export type Decision =
  | { readonly kind: "allow"; readonly rule: string; readonly layer: DecisionLayer }
  | { readonly kind: "deny"; readonly rule: string; readonly layer: DecisionLayer; readonly reason: string }
  | { readonly kind: "ask"; readonly rule: string; readonly layer: DecisionLayer; readonly reason: string }

export type DecisionLayer = "floor" | "plan" | "session" | "profile"

/** Decides about a tool call: floor first, then plan mode, session grants and the profile. Pure. Unknown access asks the user. */
export function decide(request: PolicyRequest, rules: EffectiveRules): Decision {
  const floor = decideFloor(request)
  if (floor !== undefined) return floor
  if (rules.profile === "plan") return decidePlan(request)
  const decision = decideProfile(request, rules.profile)
  if (decision.kind === "ask" && rules.granted.has(decision.rule))
    return { kind: "allow", rule: decision.rule, layer: "session" }
  return decision
}

/** Denies what no profile, rule or answer can allow. */
function decideFloor(request: PolicyRequest): Decision | undefined {
  for (const subject of request.subjects) {
    if (subject.kind !== "command") continue
    const found = detectCommand(subject.command, request.directories.userHome)
    if (found?.level === "hardline") {
      return {
        kind: "deny",
        layer: "floor",
        rule: found.key,
        reason: `BLOCKED (hardline): ${found.key}. No mode or rule can allow this; the user may run it outside the agent.`,
      }
    }
  }
  for (const path of request.paths) {
    const reason = fileRefusal(path, request)
    if (reason !== undefined) return { kind: "deny", layer: "floor", rule: "protected file", reason }
  }
  return undefined
}

/** A tool that declares neither reading nor writing must satisfy both lists. */
function fileRefusal(path: PolicyRequest["paths"][number], request: PolicyRequest): string | undefined {
  const refusals =
    request.access === "read"
      ? [readRefusal]
      : request.access === "write"
        ? [writeRefusal]
        : [readRefusal, writeRefusal]
  for (const directories of [request.directories, request.realDirectories ?? request.directories]) {
    for (const refuse of refusals) {
      const reason = refuse(path.literal, directories) ?? refuse(path.real, directories)
      if (reason !== undefined) return reason
    }
  }
  return undefined
}

function decidePlan(request: PolicyRequest): Decision {
  if (request.access === "read" || request.access === "agent") return { kind: "allow", rule: "plan", layer: "plan" }
  return {
    kind: "deny",
    layer: "plan",
    rule: "plan",
    reason: "PLAN_MODE_ACTIVE: only reading is allowed until the user approves the plan.",
  }
}

function decideProfile(request: PolicyRequest, profile: Exclude<PermissionProfile, "plan">): Decision {
  const allow: Decision = { kind: "allow", rule: profile, layer: "profile" }
  if (profile === "full-auto") return allow
  if (request.confirm !== undefined) return ask(request.tool, request.confirm)
  if (request.access === "unknown") return ask("unknown effect", `${request.tool} does not declare its effect`)
  switch (request.access) {
    case "read":
    case "agent":
      return allow
    case "write":
      return profile === "accept-edits" && !insideWorkspace(request)
        ? ask("write outside the workspace", "it writes outside the workspace")
        : allow
    case "exec":
      return profile === "accept-edits"
        ? ask(request.tool, "accept-edits asks about every command")
        : decideCommand(request, allow)
    case "network":
    case "message":
      return profile === "accept-edits" ? ask(request.tool, "it sends data to another machine") : allow
    default:
      return assertNever(request.access)
  }
}

function decideCommand(request: PolicyRequest, allow: Decision): Decision {
  for (const subject of request.subjects) {
    if (subject.kind !== "command") continue
    const found = detectCommand(subject.command, request.directories.userHome)
    if (found !== undefined) return ask(found.key, found.key)
  }
  return allow
}

function ask(rule: string, reason: string): Decision {
  return { kind: "ask", rule, layer: "profile", reason }
}

/** A write without a path goes to Hermes' own files, such as memory. */
function insideWorkspace(request: PolicyRequest): boolean {
  const { workspaceRoot } = request.realDirectories ?? request.directories
  return request.paths.every(({ real }) => isWithin(real, workspaceRoot))
}
