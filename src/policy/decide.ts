import { assertNever } from "../base/assert-never.ts"
import type { Access, Subject } from "../protocol/tool.ts"
import { detectCommand } from "./command-detector.ts"
import { isBelow, refuseRead, refuseWrite } from "./file-floor.ts"
import type { FloorPlaces } from "./file-floor.ts"
import type { PermissionProfile } from "./permission-profile.ts"

export interface PolicyRequest {
  readonly tool: string
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  /** Why the tool itself wants a person to be asked. */
  readonly confirm?: string
  /** Every path subject, absolute, as written and with links resolved. */
  readonly paths: readonly { readonly literal: string; readonly real: string }[]
  readonly places: PolicyPlaces
  /** The same places with links resolved: a home behind a link is protected under both names. */
  readonly realPlaces?: PolicyPlaces
}

export interface PolicyPlaces extends FloorPlaces {
  readonly workspaceRoot: string
}

export interface EffectiveRules {
  readonly profile: PermissionProfile
  /** Rules a person answered "for this session" to. */
  readonly granted: ReadonlySet<string>
}

/** A decision is a value that says which rule made it. */
export type Decision =
  | { readonly kind: "allow"; readonly rule: string; readonly layer: Layer }
  | { readonly kind: "deny"; readonly rule: string; readonly layer: Layer; readonly reason: string }
  | { readonly kind: "ask"; readonly rule: string; readonly layer: Layer; readonly reason: string }

export type Layer = "floor" | "plan" | "session" | "profile"

/** May this be done? Pure: floor first, then plan mode, then what was granted, then the profile. Unknown access asks. */
export function decide(request: PolicyRequest, rules: EffectiveRules): Decision {
  const floor = floorOf(request)
  if (floor !== undefined) return floor
  if (rules.profile === "plan") return decidePlan(request)
  const wanted = decideProfile(request, rules.profile)
  if (wanted.kind === "ask" && rules.granted.has(wanted.rule))
    return { kind: "allow", rule: wanted.rule, layer: "session" }
  return wanted
}

/** What no profile, rule or answer can pass. */
function floorOf(request: PolicyRequest): Decision | undefined {
  for (const subject of request.subjects) {
    if (subject.kind !== "command") continue
    const found = detectCommand(subject.command, request.places.userHome)
    if (found?.level === "hardline") {
      return {
        kind: "deny",
        layer: "floor",
        rule: found.key,
        reason: `BLOCKED (hardline): ${found.key}. No mode or rule can lift this; the person may run it outside the agent.`,
      }
    }
  }
  for (const path of request.paths) {
    const reason = fileFloor(path, request)
    if (reason !== undefined) return { kind: "deny", layer: "floor", rule: "protected file", reason }
  }
  return undefined
}

/** A tool that does not say whether it reads or writes is held to both lists. */
function fileFloor(path: PolicyRequest["paths"][number], request: PolicyRequest): string | undefined {
  const refusals =
    request.access === "read" ? [refuseRead] : request.access === "write" ? [refuseWrite] : [refuseRead, refuseWrite]
  for (const places of [request.places, request.realPlaces ?? request.places]) {
    for (const refuse of refusals) {
      const reason = refuse(path.literal, places) ?? refuse(path.real, places)
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
    reason: "PLAN_MODE_ACTIVE: only reading is allowed until the person has approved the plan.",
  }
}

function decideProfile(request: PolicyRequest, profile: Exclude<PermissionProfile, "plan">): Decision {
  const allow: Decision = { kind: "allow", rule: profile, layer: "profile" }
  if (profile === "full-auto") return allow
  if (request.confirm !== undefined) return ask(request.tool, request.confirm)
  if (request.access === "unknown") return ask("unknown effect", `${request.tool} does not say what it does`)
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
        ? ask(request.tool, "every command is asked about in accept-edits")
        : detected(request, allow)
    case "network":
    case "message":
      return profile === "accept-edits" ? ask(request.tool, "it reaches out of this machine") : allow
    default:
      return assertNever(request.access)
  }
}

function detected(request: PolicyRequest, allow: Decision): Decision {
  for (const subject of request.subjects) {
    if (subject.kind !== "command") continue
    const found = detectCommand(subject.command, request.places.userHome)
    if (found !== undefined) return ask(found.key, found.key)
  }
  return allow
}

function ask(rule: string, reason: string): Decision {
  return { kind: "ask", rule, layer: "profile", reason }
}

/** A write without a path goes to the session's own stores, such as memory. */
function insideWorkspace(request: PolicyRequest): boolean {
  const { workspaceRoot } = request.realPlaces ?? request.places
  return request.paths.every(({ real }) => isBelow(real, workspaceRoot))
}
