import type { Glob, PathGlob } from "./glob.ts"
import type { SelectedCall } from "./selectors.ts"

export type RuleDecision = "allow" | "deny" | "ask" | "auto"

/** `regex`: an allowed command still passes the detector. `none`: it does not. `ml`: a flagged call is judged by the auxiliary model first. */
export type RuleClassifier = "regex" | "ml" | "none"

/** A parsed pattern: `*`, a selector, or a selector with a glob for its argument. */
export interface RulePattern {
  /** As written. */
  readonly text: string
  readonly selects: (call: SelectedCall) => boolean
  /** Undefined when every argument matches. */
  readonly argument: RuleArgument | undefined
  /** The rule applies only to calls that start in this directory. */
  readonly directory?: string
}

/** Binds a pattern to the directory in which a command starts. */
export function inDirectory(pattern: RulePattern, directory: string): RulePattern {
  const { selects } = pattern
  return { ...pattern, directory, selects: (call) => call.directory === directory && selects(call) }
}

/** A pattern with its directory, for lists of rules. */
export function shownPattern({ text, directory }: RulePattern): string {
  return directory === undefined ? text : `${text} (in ${directory})`
}

export const START_CHARS = 3

export interface RuleArgument {
  /** As written. */
  readonly text: string
  /** For commands, names and targets, with single spaces. */
  readonly glob: Glob
  /** The argument ends in ` *`: the command without arguments matches as well. */
  readonly bare: Glob | undefined
  /** The first characters of every text that it matches; undefined when they are not fixed. */
  readonly start: string | undefined
  readonly path: { readonly from: "root" | "userHome" | "workspace"; readonly glob: PathGlob }
}

export interface ToolRule {
  readonly pattern: RulePattern
  readonly decision: RuleDecision
  readonly classifier: RuleClassifier
  readonly inheritable: boolean
}

/** Where a rule comes from, in the order in which the layers are asked. */
export const RULE_LAYERS = ["session", "cli", "platform", "project", "settings", "profile", "home"] as const

export type RuleLayerName = (typeof RULE_LAYERS)[number]

export interface RuleLayer {
  readonly name: RuleLayerName
  readonly rules: readonly ToolRule[]
}

/** What happens to a call that no rule matches. `workspace`: writes in the workspace are allowed, everything else that changes something asks. */
export type ProfileDefault = "detector" | "workspace" | "ask" | "allow" | "deny" | "plan"

export interface ProfileDefinition {
  readonly name: string
  readonly rules: readonly ToolRule[]
  readonly scope: "session" | "task" | "permanent"
  readonly inheritable: boolean
  readonly default: ProfileDefault
  /** What the detector flags goes to the auxiliary model instead of the user. */
  readonly classifier?: "ml"
}
