import type { Access, Subject } from "../protocol/tool.ts"
import type { CommandVerdict, Walls } from "./commands/command-verdict.ts"
import type { OpenedFiles } from "./commands/protected-file-rules.ts"
import type { FloorDirectories } from "./file-floor.ts"
import type { ProfileDefinition, RuleLayer } from "./rules/permission-rules.ts"

/** A tool call as the policy sees it. */
export interface PolicyRequest {
  readonly tool: string
  readonly toolset: string
  /** The MCP server that offers the tool. */
  readonly server?: string
  /** The plugin whose code runs. */
  readonly plugin?: string
  readonly access: Access | "unknown"
  readonly subjects: readonly Subject[]
  /** What the call does, for a tool with several actions. */
  readonly action?: string
  /** Why the tool itself requires confirmation by the user. */
  readonly confirm?: string
  readonly paths: readonly JudgedPathForms[]
  /** Settings of git name one of the paths, so that git executes or obeys it. */
  readonly isNamedByGit?: true
  /** Every command subject. */
  readonly commands: readonly JudgedCommand[]
  /** The commands are run by a shell, in contrast to text for a running program. */
  readonly runsCommands: boolean
  /** The command starts a script that calls tools. Rules name its language; what it calls is decided separately. */
  readonly isScript?: true
  /** The commands keep running after the call. */
  readonly inBackground: boolean
  /** Where the commands start; undefined when an earlier `cd` is not known. */
  readonly startDirectory?: string
  readonly walls: Walls
  readonly directories: PolicyDirectories
  /** The same directories with symbolic links resolved, so that a linked home is protected under both paths. */
  readonly realDirectories?: PolicyDirectories
}

/** A path subject, absolute. */
export interface JudgedPathForms {
  /** As written. */
  readonly literal: string
  /** With symbolic links resolved. */
  readonly real: string
  /** With symbolic links resolved except one at the end, where it differs: a removal or a move acts on the link itself. */
  readonly entry?: string
}

export interface JudgedCommand {
  readonly line: string
  readonly verdict: CommandVerdict
  /** Belongs to the fixed set of commands that change nothing. */
  readonly isReadOnly: boolean
  /** Needs `.git/config`, and only for what git itself keeps there. */
  readonly keepsGitSettings: boolean
  /** Git updates the working tree in it, and the other commands only read. */
  readonly updatesTree: boolean
  /** Protected files that it has to write. In the sandbox, an approval opens them. */
  readonly opens: readonly OpenedFiles[]
  /** Hosts that settings of the project lead its package managers to. */
  readonly registries?: readonly string[]
}

export interface PolicyDirectories extends FloorDirectories {
  readonly workspaceRoot: string
}

/** The rules that apply to one call. */
export interface EffectiveRules {
  readonly profile: ProfileDefinition
  /** In the order in which they are asked, including the rules of the profile. */
  readonly layers: readonly RuleLayer[]
  /** Findings of the detector that the user allowed permanently: `command_allowlist`. */
  readonly allowedKeys: ReadonlySet<string>
  /** Whether plan mode may read from the network. */
  readonly planAllowsWeb: boolean
  /** The only file that plan mode may write. */
  readonly planFile?: string
  /** What the auto profile does with a call that it cannot decide. */
  readonly escalation: "ask" | "deny"
  /** Why the user's rules are not known. Every call that acts on anything is denied then. */
  readonly unreadable?: string
}

/** Names the rule and layer that made the decision. */
export interface Decision {
  readonly kind: "allow" | "ask" | "deny"
  readonly rule: string
  readonly layer: DecisionLayer
  /** A clause for the user and the model. */
  readonly reason: string
  /** Decided by the floor: no profile, rule or answer can change it. */
  readonly hard?: true
  /** Only the explicit answer of a user to this one call allows it. */
  readonly personOnly?: true
  /** Text from outside had a part in the call: no setting answers for the user, and a grant covers the arguments word for word. */
  readonly fresh?: true
  /** The auxiliary model may answer before the user. */
  readonly classifier?: "ml"
  /** Why the detector flagged the call, one clause for each finding. */
  readonly reasons: readonly string[]
  /** The keys of the findings, for `command_allowlist`. */
  readonly keys: readonly string[]
}

export type DecisionLayer = "floor" | "plan" | "detector" | "provenance" | RuleLayer["name"]
