import { existsSync, statSync } from "node:fs"
import { resolve } from "node:path"

import { asSentence } from "../../base/sentence.ts"
import type { PermissionFlags } from "../../app/permissions/load-permission-policy.ts"
import { parsePattern } from "../../policy/rules/parse-pattern.ts"
import type { RulePattern } from "../../policy/rules/permission-rules.ts"
import type { PermissionProfile } from "../../policy/permission-profile.ts"
import type { Part } from "../../protocol/message.ts"
import { CliError } from "../command.ts"
import type { FlagValues, Invocation } from "../command.ts"

/** What this invocation prints, and for whom: a user, a user who wants only the answer, or a program. */
export type ChatMode = "conversation" | "query" | "answer-only" | "script" | "json" | "stream-json"

export interface ChatOptions {
  readonly mode: ChatMode
  /** In a conversation the first message, if one is given. */
  readonly prompt: string | undefined
  readonly images: readonly Part[]
  readonly cwd: string
  /** True when `--cwd` was given. */
  readonly isCwdNamed: boolean
  readonly worktree: boolean
  readonly source: string
  readonly toolsets: readonly string[] | undefined
  /** Skills that are loaded with the first message. */
  readonly skills: readonly string[]
  readonly maxTurns: number | undefined
  readonly model: string | undefined
  readonly provider: string | undefined
  readonly resume: string | undefined
  /** `-c` without a name: continue the most recent session of this directory. */
  readonly continueLast: boolean
  /** `--all`: the most recent session may be of another directory. */
  readonly anyDirectory: boolean
  readonly permissionProfile: PermissionProfile | undefined
  readonly permissionFlags: PermissionFlags
  readonly systemPromptAppend: string | undefined
  readonly passSessionId: boolean
  readonly checkpoints: boolean
  readonly saveTrajectories: boolean
  readonly deltas: boolean
}

const MAX_STDIN_BYTES = 1_000_000
const FIRST_BYTE_MS = 10_000

/** Reads the flags, the prompt and piped input. Throws a `CliError` for an invalid combination. */
export async function readChatOptions(invocation: Invocation): Promise<ChatOptions> {
  const { flags, environment, terminal, positionals } = invocation
  const script = flags.text("oneshot")
  const query = flags.text("query")
  const first = positionals.join(" ").trim() === "" ? undefined : positionals.join(" ")
  if (first !== undefined && (script ?? query) !== undefined)
    throw usage("There are two prompts: give it either as a word or with -q or -z.")
  const format = flags.text("output-format") ?? "text"
  // `-` stands for standard input.
  const [typed] = [script ?? query ?? first].filter((text) => text !== "-")
  const piped = await readPiped(invocation, typed !== undefined)
  const prompt = joinPrompt(typed, piped)
  const isOneShot =
    script !== undefined ||
    query !== undefined ||
    format !== "text" ||
    !terminal.stdinIsTty ||
    (first !== undefined && !terminal.stdoutIsTty)
  if (isOneShot && (prompt === undefined || prompt.trim() === ""))
    throw usage(missingPrompt(flags, terminal.stdinIsTty))
  if (script !== undefined && flags.text("provider") !== undefined && !namesModel(invocation)) {
    throw usage("--provider needs a model: add --model, or set HERMES_INFERENCE_MODEL.")
  }
  if (flags.has("all") && !flags.has("continue")) throw usage("--all belongs to --continue: use `hermes -c --all`.")
  const images = await readImages(flags.texts("image"), invocation)
  return {
    mode: modeOf({ script, format, isOneShot, quiet: flags.has("quiet"), query, stdinIsTty: terminal.stdinIsTty }),
    prompt,
    images,
    cwd: resolveWorkingDirectory(flags.text("cwd")),
    isCwdNamed: flags.text("cwd") !== undefined,
    worktree: flags.has("worktree"),
    source: flags.text("source") ?? (environment.get("HERMES_SESSION_SOURCE")?.trim() || "cli"),
    toolsets: flags
      .text("toolsets")
      ?.split(",")
      .map((name) => name.trim())
      .filter((name) => name !== ""),
    skills: flags
      .texts("skills")
      .flatMap((list) => list.split(","))
      .map((name) => name.trim())
      .filter((name) => name !== ""),
    maxTurns: flags.number("max-turns"),
    model: flags.text("model"),
    provider: flags.text("provider"),
    resume: flags.text("resume") ?? (flags.text("continue") === "" ? undefined : flags.text("continue")),
    continueLast: flags.has("continue") && (flags.text("continue") ?? "") === "",
    anyDirectory: flags.has("all"),
    permissionProfile: readProfileFlags(flags) ?? (environment.truthy("HERMES_YOLO_MODE") ? "full-auto" : undefined),
    permissionFlags: readPermissionFlags(flags),
    systemPromptAppend: flags.text("system-prompt-append"),
    passSessionId: flags.has("pass-session-id"),
    checkpoints: flags.has("checkpoints"),
    saveTrajectories: flags.has("save-trajectories"),
    deltas: !flags.has("no-deltas"),
  }
}

function modeOf(facts: {
  readonly script: string | undefined
  readonly format: string
  readonly isOneShot: boolean
  readonly quiet: boolean
  readonly query: string | undefined
  readonly stdinIsTty: boolean
}): ChatMode {
  if (facts.format === "json" || facts.format === "stream-json") return facts.format
  if (facts.script !== undefined) return "script"
  if (!facts.isOneShot) return "conversation"
  return facts.quiet || facts.query === undefined ? "answer-only" : "query"
}

/** Reads pipes, sockets and files; a terminal and /dev/null are not read. */
async function readPiped(invocation: Invocation, hasPrompt: boolean): Promise<string> {
  const { terminal, flags, signal } = invocation
  if (flags.has("no-stdin") || !terminal.stdinIsPiped) return ""
  const read = await terminal.readStdin({
    maxBytes: MAX_STDIN_BYTES,
    signal,
    ...(hasPrompt ? { firstByteWithinMs: FIRST_BYTE_MS } : {}),
  })
  if (read.timedOut)
    terminal.errLine(
      "No data arrived on standard input within 10 seconds; continuing without it. Use --no-stdin to skip the wait.",
    )
  if (!read.truncated) return read.text
  const limit = MAX_STDIN_BYTES.toLocaleString("en-US")
  terminal.errLine(
    `Standard input is longer than ${limit} bytes: only its beginning is sent to the model, up to this limit. Save it to a file and name the file in the prompt, so that the model can read all of it.`,
  )
  return `${read.text}\n[input truncated: these are the first ${limit} bytes of standard input, and the rest was not read]`
}

function joinPrompt(typed: string | undefined, piped: string): string | undefined {
  if (typed === undefined) return piped.trim() === "" ? undefined : piped.trimEnd()
  if (piped.trim() === "") return typed
  const fence = piped.includes("```") ? "````" : "```"
  return `${typed}\n\n${fence}\n${piped.trimEnd()}\n${fence}`
}

function missingPrompt(flags: FlagValues, stdinIsTty: boolean): string {
  if (!stdinIsTty && !flags.has("oneshot") && !flags.has("query")) {
    return "There is no prompt: standard input is empty and not a terminal. Pass one with -q, or pipe it in."
  }
  return "The prompt is empty. Pass one with -q or -z, or pipe it in."
}

function namesModel(invocation: Invocation): boolean {
  return (
    invocation.flags.text("model") !== undefined || (invocation.environment.get("HERMES_INFERENCE_MODEL") ?? "") !== ""
  )
}

function resolveWorkingDirectory(given: string | undefined): string {
  if (given === undefined) {
    try {
      return process.cwd()
    } catch (cause) {
      throw new CliError("The working directory no longer exists. Change to another directory.", { exitCode: 1, cause })
    }
  }
  const path = resolve(given)
  if (!existsSync(path) || !statSync(path).isDirectory()) throw usage(`--cwd: ${given} is not a directory.`)
  return path
}

export function readProfileFlags(flags: FlagValues): PermissionProfile | undefined {
  if (flags.has("plan")) return "plan"
  if (flags.has("yolo")) return "full-auto"
  return flags.text("permission-profile")
}

/** Reads `--allow` and `--deny`. Throws a `CliError` for a pattern that is none. */
export function readPermissionFlags(flags: FlagValues): PermissionFlags {
  const patterns = (name: "allow" | "deny"): readonly RulePattern[] =>
    flags.texts(name).map((written) => {
      const pattern = parsePattern(written)
      if (!pattern.ok) throw usage(`--${name}: ${asSentence(pattern.error)}`)
      return pattern.value
    })
  return { allow: patterns("allow"), deny: patterns("deny") }
}

async function readImages(paths: readonly string[], { home }: Invocation): Promise<readonly Part[]> {
  if (paths.length === 0) return []
  const { readAttachedImage } = await import("../../app/services/attached-image.ts")
  const context = { cwd: resolveWorkingDirectory(undefined), userHome: home.userHome }
  return await Promise.all(
    paths.map(async (path) => {
      const image = await readAttachedImage(path, context)
      if (!image.ok) throw usage(`--image: ${image.error}.`)
      return image.value.part
    }),
  )
}

function usage(message: string): CliError {
  return new CliError(message, { exitCode: 2 })
}
