import { basename } from "node:path"

import { isLoopback } from "../commands/network-target.ts"
import { executedFiles } from "../executed-files.ts"
import { agentInstructions, isWithin } from "../file-floor.ts"
import type { PolicyRequest } from "../policy-request.ts"
import { commandSinks } from "./command-sinks.ts"
import { hostsIn } from "./hosts.ts"
import type { Sink, SinkKind } from "./sink.ts"

/** A call, with what its arguments say apart from the subjects of its policy request. */
export interface JudgedContent {
  readonly request: PolicyRequest
  readonly args: Readonly<Record<string, unknown>>
  /** What the agent relies on the tool for. */
  readonly role?: string
}

/** Whether a call runs files that the model may have written in this session. */
export function needsWrittenHosts({ commands }: PolicyRequest): boolean {
  return commands.some(({ verdict }) => executedFiles(verdict.understood).length > 0)
}

/** Everything that a call reaches, whether or not the walls prevent it. */
export function callSinks(
  { request, args, role }: JudgedContent,
  hostsWrittenTo: (fileName: string) => readonly string[],
): readonly Sink[] {
  if (request.access === "agent") return []
  const sinks: Sink[] = request.commands.flatMap((command) => commandSinks(command, hostsWrittenTo))
  const add = (kind: SinkKind, ...values: readonly (string | undefined)[]): void => {
    for (const value of values) sinks.push({ kind, value })
  }
  const urls = request.subjects.flatMap((subject) => (subject.kind === "url" ? hostsIn(withScheme(subject.url)) : []))
  add("network", ...urls)
  const isRemote = request.access === "network" || request.access === "unknown" || request.server !== undefined
  if (isRemote) add("network", ...stringsIn(args).flatMap(hostsIn))
  if (request.access === "network" && urls.length === 0) add("network", undefined)
  if (request.access === "message") {
    const targets = request.subjects.flatMap((subject) => (subject.kind === "target" ? [subject.target] : []))
    add("message", ...(targets.length === 0 ? [undefined] : targets))
  }
  if (request.access === "write") {
    const lasting = (role === undefined ? undefined : ROLES[role]) ?? TOOLSETS[request.toolset]
    if (lasting !== undefined) add(lasting.kind, ...lastingText(args, lasting.fields))
    for (const { literal, real } of request.paths) {
      const isFollowed =
        agentInstructions(real, request.directories.workspaceRoot) !== undefined || SKILL_FILES.test(basename(real))
      if (isFollowed) add("instructions", basename(real))
      if (isOutside(real, request)) add("path", literal)
    }
  }
  return sinks.filter(({ kind, value }) => kind !== "network" || !isLoopback(value))
}

interface LastingText {
  readonly kind: SinkKind
  /** The arguments that later sessions follow; all of them when absent. */
  readonly fields?: readonly string[]
}

/** Tools whose writes outlive the session. The error that a learning belongs to always comes from outside; the fix is what is followed. */
const ROLES: Readonly<Record<string, LastingText>> = {
  memory: { kind: "memory", fields: ["content"] },
  learnings: { kind: "learning", fields: ["fix"] },
}
const TOOLSETS: Readonly<Record<string, LastingText>> = { skills: { kind: "skill" }, cronjob: { kind: "schedule" } }

function lastingText(args: JudgedContent["args"], fields: LastingText["fields"]): readonly string[] {
  const text = (fields === undefined ? stringsIn(args) : fields.flatMap((name) => stringsIn(args[name]))).join("\n")
  return text === "" ? [] : [text]
}

/** Files whose text agents follow once they are installed, in any directory. */
const SKILL_FILES = /^(?:copilot-instructions|skill)\.md$|\.mdc$/iu

function isOutside(path: string, { directories, realDirectories = directories }: PolicyRequest): boolean {
  return ![realDirectories.workspaceRoot, ...(realDirectories.writable ?? [])].some((root) => isWithin(path, root))
}

function withScheme(url: string): string {
  return url.includes("://") ? url : `https://${url}`
}

function stringsIn(value: unknown): readonly string[] {
  if (typeof value === "string") return [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : []
}
