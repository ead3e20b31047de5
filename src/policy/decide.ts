import type { CommandFinding, Walls } from "./commands/command-verdict.ts"
import type { OpenedFiles } from "./commands/protected-file-rules.ts"
import { alwaysPattern } from "./always-pattern.ts"
import { isWithin, readRefusal, writableRoots, writeQuestion, writeRefusal } from "./file-floor.ts"
import type {
  Decision,
  DecisionLayer,
  EffectiveRules,
  JudgedCommand,
  JudgedPathForms,
  PolicyRequest,
} from "./policy-request.ts"
import { addCoverage, createCoverage, matchedCommand, matchedPath, textStarts, touches } from "./rules/match-rule.ts"
import type { MatchedCall } from "./rules/match-rule.ts"
import type { RuleLayer, ToolRule } from "./rules/permission-rules.ts"
import { candidateLayers } from "./rules/rule-index.ts"
import { WEB_TOOLSETS } from "./rules/selectors.ts"
import { withoutPrevented } from "./rules/walls.ts"

/**
 * Decides about a tool call. The order is fixed: floor, plan mode, `deny` rules of every layer, what only a user may allow, the other
 * rules by layer, and the default of the profile. Pure. What is not known is asked about.
 */
export function decide(request: PolicyRequest, rules: EffectiveRules): Decision {
  const findings = withoutPrevented(
    request.commands.flatMap(({ verdict }) => verdict.findings),
    request.walls,
  )
  const call = matchedCall(request)
  const opening = openingFindings(request)
  const layers = candidateLayers(rules.layers, call)
  const facts: Facts = { request, rules, layers, call, findings: [...findings, ...opening], opening }
  const decision =
    decideFloor(facts) ??
    decideUnreadable(facts) ??
    decidePlan(facts) ??
    decideDenied(facts) ??
    decidePersonOnly(facts) ??
    decideByRules(facts) ??
    decideByDefault(facts)
  return withAllowedKeys(decision, rules)
}

interface Facts {
  readonly request: PolicyRequest
  readonly rules: EffectiveRules
  /** Those of the rules that may be about the call. */
  readonly layers: readonly RuleLayer[]
  readonly call: MatchedCall
  /** What the detector found and the walls do not prevent. */
  readonly findings: readonly CommandFinding[]
  /** Those of them that ask to open files that the sandbox protects. */
  readonly opening: readonly CommandFinding[]
}

/** Denies what no profile, rule or answer can allow. */
function decideFloor({ request, findings }: Facts): Decision | undefined {
  const hard = findings.find(({ level }) => level === "hardline")
  if (hard !== undefined) {
    const reason = `BLOCKED (hardline): ${hard.key}. No mode or rule can allow this; the user may run it outside the agent.`
    return { ...made("deny", "floor", hard.key, reason), hard: true, reasons: [hard.description] }
  }
  const guarded = findings.find(({ level }) => level === "sudo_guard")
  if (guarded !== undefined) {
    const reason =
      "BLOCKED: sudo reads a password from its input, and none is configured. Do not guess passwords; the user can set SUDO_PASSWORD."
    return { ...made("deny", "floor", guarded.key, reason), hard: true, reasons: [guarded.description] }
  }
  for (const path of request.paths) {
    const reason = fileRefusal(path, request)
    if (reason !== undefined) return { ...made("deny", "floor", "protected file", reason), hard: true }
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
      for (const form of formsOf(path)) {
        const reason = refuse(form, directories)
        if (reason !== undefined) return reason
      }
    }
  }
  return undefined
}

function formsOf({ literal, real, entry }: JudgedPathForms): readonly string[] {
  return entry === undefined ? [literal, real] : [literal, real, entry]
}

/** Rules that cannot be read may have been restrictions. */
function decideUnreadable({ request, rules: { unreadable } }: Facts): Decision | undefined {
  if (unreadable === undefined || request.access === "agent") return undefined
  return made("deny", "settings", "unreadable rules", unreadable)
}

function decidePlan({ request, rules, call, findings }: Facts): Decision | undefined {
  if (rules.profile.default !== "plan") return undefined
  if (request.access === "agent") return undefined
  if (request.access === "read" && (rules.planAllowsWeb || !call.isWebRead)) return undefined
  if (isPlanFile(request, rules.planFile)) return undefined
  const isConfined = request.walls.kind === "sandbox"
  if (request.isScript === true) return decidePlannedScript(isConfined, findings)
  const isReading = request.runsCommands && request.commands.every(({ isReadOnly }) => isReadOnly)
  const mayRun = request.access === "exec" && request.commands.length > 0 && isReading && findings.length === 0
  if (mayRun && isConfined && !request.inBackground) return undefined
  const [finding] = findings
  const obstacle = mayRun
    ? isConfined
      ? "nothing may keep running; leave out background"
      : "commands that only read need the sandbox"
    : finding?.description
  const why = isReading && obstacle !== undefined ? ` (${obstacle})` : ""
  return deniedByPlan(why)
}

/** In plan mode the sandbox has neither write access nor network, and what a script calls is decided call by call. Nothing is asked. */
function decidePlannedScript(isConfined: boolean, findings: readonly CommandFinding[]): Decision | undefined {
  if (!isConfined) return deniedByPlan(" (scripts need the sandbox)")
  const suspect = findings.find(({ level }) => level === "ask_person")
  return suspect === undefined ? undefined : deniedByPlan(` (${suspect.description})`)
}

function deniedByPlan(why: string): Decision {
  const reason = `PLAN_MODE_ACTIVE: only reading is allowed until the user approves the plan${why}.`
  return made("deny", "plan", "plan", reason)
}

/** No link may lead elsewhere, except one to the workspace itself. */
function isPlanFile(request: PolicyRequest, planFile: string | undefined): boolean {
  const { access, paths, directories, realDirectories = directories } = request
  if (planFile === undefined || access !== "write" || paths.length === 0) return false
  const root = directories.workspaceRoot
  const realFile = isWithin(planFile, root) ? realDirectories.workspaceRoot + planFile.slice(root.length) : planFile
  return paths.every(({ literal, real }) => literal === planFile && (real === planFile || real === realFile))
}

function decideDenied({ layers, call }: Facts): Decision | undefined {
  for (const { name, rules } of layers) {
    for (const { decision, pattern } of rules) {
      if (decision !== "deny" || !touches(pattern, call)) continue
      const reason = `BLOCKED: the rule \`${pattern.text}\` (${LAYER_NAMES[name]}) denies it. Do not try it in another form.`
      return made("deny", name, pattern.text, reason)
    }
  }
  return undefined
}

/** What looks like a blocked command in text that was not understood: only a user can say what it is. */
function decidePersonOnly({ findings }: Facts): Decision | undefined {
  const asking = findings.filter(({ level }) => level === "ask_person")
  return asking.length === 0 ? undefined : { ...askAbout(asking), personOnly: true }
}

function decideByRules(facts: Facts): Decision | undefined {
  const { call, layers } = facts
  const coverage = createCoverage(call)
  for (const layer of layers) {
    for (const rule of layer.rules) {
      if (rule.decision === "deny") continue
      if (rule.decision !== "allow") {
        if (touches(rule.pattern, call)) return askedByRule(rule, layer, facts)
        continue
      }
      const covered = addCoverage(rule, call, coverage) ? coverage.result() : undefined
      if (covered !== undefined) return allowedByRule({ rule, layer, ...covered }, facts)
    }
  }
  return undefined
}

function askedByRule({ pattern, decision, classifier }: ToolRule, { name }: RuleLayer, { findings }: Facts): Decision {
  const reason = `the rule \`${pattern.text}\` (${LAYER_NAMES[name]}) asks about it`
  const asked = { ...made("ask", name, pattern.text, reason), reasons: [reason, ...findings.map(describe)] }
  return decision === "auto" || classifier === "ml" ? { ...asked, classifier: "ml" } : asked
}

function allowedByRule(
  found: { readonly rule: ToolRule; readonly layer: RuleLayer; readonly skipsDetector: boolean },
  { request, findings, opening }: Facts,
): Decision {
  const { rule, layer } = found
  // A user who allowed `npm *` did not think of the files; one who named exactly this call has seen the question.
  if (opening.length > 0 && alwaysPattern(request)?.text !== rule.pattern.text) return askAbout(findings)
  if (!found.skipsDetector) {
    if (findings.length > 0) return withClassifier(askAbout(findings), rule.classifier === "ml")
    if (request.confirm !== undefined) return made("ask", "detector", request.tool, request.confirm)
  }
  return made("allow", layer.name, rule.pattern.text, `allowed by the rule \`${rule.pattern.text}\``)
}

function decideByDefault(facts: Facts): Decision {
  const { request, rules, findings } = facts
  const { name, default: fallback, classifier } = rules.profile
  const allow = made("allow", "profile", name, `the profile ${name} allows it`)
  const ask = (rule: string, reason: string): Decision => made("ask", "profile", rule, reason)
  if (fallback === "allow" || fallback === "plan") return allow
  if (fallback === "deny")
    return made("deny", "profile", name, `BLOCKED: the profile ${name} denies what no rule allows.`)
  if (request.confirm !== undefined) return ask(request.tool, request.confirm)
  if (request.access === "unknown") return ask("unknown effect", `${request.tool} does not declare its effect`)
  if (request.access === "agent") return allow
  if (fallback === "ask") return ask(request.tool, `the profile ${name} asks about what no rule allows`)
  if (request.access === "write" && !isInWritableDirectory(request))
    return ask("write outside the workspace", "it writes outside the workspace")
  const executed = request.access === "write" ? executedByOthers(request) : undefined
  if (executed !== undefined) return ask("executed file", executed)
  if (fallback === "workspace") {
    if (request.access === "network" || request.access === "message")
      return ask(request.tool, "it sends data to another machine")
    if (request.access === "exec" && (request.walls.kind === "none" || request.commands.length === 0))
      return ask(request.tool, `${name} asks about every command that runs without a sandbox`)
  }
  const asked = fallback === "workspace" || classifier === "ml" ? [...findings, ...actsOutside(request)] : findings
  if (asked.length === 0) return allow
  return escalated(withClassifier(askAbout(asked), classifier === "ml" && facts.opening.length === 0), facts)
}

/** What no sandbox confines: in the profiles that ask little, other machines are still for the user to decide about. */
function actsOutside({ commands, walls }: PolicyRequest): readonly CommandFinding[] {
  return withoutPrevented(
    commands.flatMap(({ verdict }) => verdict.outside),
    walls,
  )
}

/** In the sandbox a tool that has to write protected files would fail; a user's answer opens them for this call. */
function openingFindings({ commands, walls }: PolicyRequest): readonly CommandFinding[] {
  return neededFiles(commands, walls).map(({ rule, command, files }) => ({
    level: "ask",
    key: rule,
    description: `the rule "${rule}" opens ${files.join(" and ")} for this command line, because ${command} writes there, and other programs execute or obey these files`,
    view: "argv",
    effects: [],
  }))
}

/** The protected files that the commands of a call have to write where they run. */
export function neededFiles(commands: readonly JudgedCommand[], walls: Walls): readonly OpenedFiles[] {
  if (walls.kind !== "sandbox") return []
  return commands
    .flatMap(({ opens }) => opens)
    .filter(({ onlyWithGitPrograms }) => onlyWithGitPrograms !== true || walls.gitStartsPrograms === true)
}

/** Without an answer of the auxiliary model, the auto profile denies or asks as the settings say. */
function escalated(decision: Decision, { rules }: Facts): Decision {
  if (decision.classifier !== "ml" || rules.escalation === "ask") return decision
  const reason = `BLOCKED: the profile ${rules.profile.name} does not run this without a user (${decision.reason}), and approvals.auto_escalation is deny.`
  return { ...decision, kind: "deny", reason }
}

function withAllowedKeys(decision: Decision, { allowedKeys }: EffectiveRules): Decision {
  const { kind, layer, keys, personOnly } = decision
  const isAllowed = kind === "ask" && layer === "detector" && personOnly !== true && keys.length > 0
  if (!isAllowed || !keys.every((key) => allowedKeys.has(key))) return decision
  const reason = `command_allowlist allows: ${keys.join(", ")}`
  return { ...made("allow", "settings", keys.join(", "), reason), keys }
}

function askAbout(findings: readonly CommandFinding[]): Decision {
  const keys = [...new Set(findings.map(({ key }) => key))]
  // What the text contains is no news where the command itself was recognized.
  const recognized = new Set(findings.flatMap(({ key, view }) => (view === "argv" ? [key] : [])))
  const named = findings.filter(({ key, view }) => view === "argv" || !recognized.has(key))
  const reasons = [...new Set(named.map(describe))]
  return { kind: "ask", layer: "detector", rule: keys[0] ?? "", reason: reasons.join("; "), reasons, keys }
}

function describe({ description }: CommandFinding): string {
  return description
}

function withClassifier(decision: Decision, isAsked: boolean): Decision {
  return isAsked ? { ...decision, classifier: "ml" } : decision
}

function made(kind: Decision["kind"], layer: DecisionLayer, rule: string, reason: string): Decision {
  return { kind, layer, rule, reason, reasons: [reason], keys: [] }
}

/** A write without a path goes to Hermes' own files, such as memory. */
function isInWritableDirectory({ directories, realDirectories = directories, paths }: PolicyRequest): boolean {
  const roots = writableRoots(realDirectories)
  const written = paths.flatMap(({ real, entry }) => (entry === undefined ? [real] : [real, entry]))
  return written.every((path) => roots.some((root) => isWithin(path, root)))
}

/** Why a write matters beyond the file: another program, outside the sandbox, will execute it. */
function executedByOthers(request: PolicyRequest): string | undefined {
  const { directories, realDirectories = directories, paths } = request
  for (const forms of paths.map(formsOf))
    for (const path of forms) {
      const question = writeQuestion(path, directories) ?? writeQuestion(path, realDirectories)
      if (question !== undefined) return question
    }
  return request.isNamedByGit === true ? "it changes a file that git executes or obeys" : undefined
}

function matchedCall(request: PolicyRequest): MatchedCall {
  const { directories, realDirectories = directories, subjects, action } = request
  const urls = subjects.flatMap((subject) => (subject.kind === "url" ? [subject.url] : []))
  const roots = {
    workspace: [directories.workspaceRoot, realDirectories.workspaceRoot],
    userHome: [directories.userHome, realDirectories.userHome],
  }
  const words = subjects.flatMap((subject) => {
    if (subject.kind === "query") return [subject.query]
    if (subject.kind === "target") return [subject.target]
    return subject.kind === "name" ? [subject.name] : []
  })
  const commands = request.commands.map(({ line, verdict }) => matchedCommand(line, verdict.understood))
  const compared = action === undefined ? words : [...words, action]
  const hasTextsOnly = request.paths.length === 0 && urls.length === 0
  return {
    tool: request.tool,
    toolset: request.toolset,
    ...(request.server === undefined ? {} : { server: request.server }),
    ...(request.plugin === undefined ? {} : { plugin: request.plugin }),
    access: request.access,
    ...(request.startDirectory === undefined ? {} : { directory: request.startDirectory }),
    isWebRead: request.access === "read" && (urls.length > 0 || WEB_TOOLSETS.has(request.toolset)),
    commands,
    ...(hasTextsOnly ? { starts: textStarts([...commands.flatMap(({ texts }) => texts), ...compared]) } : {}),
    ...(request.isScript === true ? { isScript: true } : {}),
    paths: request.paths.map((path) => matchedPath(path, roots)),
    urls,
    words: compared,
  }
}

/** Where a rule comes from, in the words of a message. */
export const LAYER_NAMES: Readonly<Record<RuleLayer["name"], string>> = {
  session: "this session",
  cli: "the command line",
  platform: "approvals.platforms",
  project: ".hermes/permissions.yaml of the workspace",
  settings: "approvals.rules",
  profile: "the permission profile",
  home: "permissions.yaml",
}
