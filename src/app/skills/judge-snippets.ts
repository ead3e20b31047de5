import { posix } from "node:path"

import type { CommandRisk, JudgeSnippets } from "../../knowledge/skills/guard/command-risk.ts"
import type { CommandSnippet } from "../../knowledge/skills/guard/command-snippets.ts"
import { classifyCommand } from "../../policy/commands/classify-command.ts"
import type { CommandFacts, CommandFinding, CommandVerdict, Effect } from "../../policy/commands/command-verdict.ts"
import { INITIAL_SHELL_STATE, understandCommand } from "../../policy/shell/understand-command.ts"
import type { ShellState, SimpleCommand } from "../../policy/shell/understood-command.ts"
import { commandRisk, type RiskRow } from "./command-risks.ts"

/** Invented, so that the verdict about a skill is the same on every machine. */
const FACTS: CommandFacts = {
  userHome: "/home/user",
  hermesHome: "/home/user/.hermes",
  hermesRoot: "/home/user/.hermes",
  workspaceRoot: "/workspace",
  realPath: (path) => path,
  hasSudoPassword: false,
}

/** Judges the commands of a skill by what the policy knows about commands. Pure; loads the shell parser. */
export const judgeSnippets: JudgeSnippets = (snippets) => {
  const seen: Seen = { state: INITIAL_SHELL_STATE(FACTS.workspaceRoot), downloads: new Set(), credentials: [] }
  return snippets.flatMap((snippet) => judgeSnippet(snippet, seen))
}

/** What the commands so far have done. */
interface Seen {
  state: ShellState
  /** Names of files that were fetched from other machines. */
  readonly downloads: Set<string>
  /** Credentials that were read or copied to a file. */
  readonly credentials: CommandRisk[]
}

function judgeSnippet(snippet: CommandSnippet, seen: Seen): readonly CommandRisk[] {
  const whole = judgeText(snippet, seen)
  // Placeholders such as <FILE> are no valid shell syntax. The other lines still say what they do.
  if (!whole.isDamaged || !snippet.text.includes("\n")) return whole.risks
  const lines = snippet.text.split("\n").map((text, index) => ({ line: snippet.line + index, text }))
  return distinct([...whole.risks, ...lines.flatMap((line) => judgeText(line, seen).risks)])
}

function judgeText(
  snippet: CommandSnippet,
  seen: Seen,
): { readonly risks: readonly CommandRisk[]; readonly isDamaged: boolean } {
  const understood = understandCommand(snippet.text, seen.state, FACTS)
  const verdict = classifyCommand(understood, snippet.text, FACTS)
  const before = seen.state.files
  seen.state = { ...understood.after, directory: FACTS.workspaceRoot }
  const risk = (row: RiskRow, command: string): CommandRisk => ({ ...row, snippet, command })
  const risks = [
    ...verdict.findings.flatMap((finding) => {
      const row = rowOf(finding)
      return row === undefined ? [] : [risk(row, finding.description)]
    }),
    ...ranDownloads(verdict, seen).map((command) => risk(RUN_DOWNLOAD, command)),
    ...ranDecoded(verdict).map((command) => risk(RUN_DECODED, command)),
  ]
  const sent = sentCredentials(verdict, risks, seen)
  noteDownloads(verdict, before, seen)
  return {
    risks: distinct([...risks, ...(sent === undefined ? [] : [risk(SEND_CREDENTIALS, sent)])]),
    isDamaged: understood.doubts.some(({ kind }) => kind === "syntax"),
  }
}

const RUN_DOWNLOAD: RiskRow = { id: "run_download", severity: "critical", category: "supply_chain" }
const RUN_DECODED: RiskRow = { id: "run_decoded", severity: "critical", category: "obfuscation" }
const SEND_CREDENTIALS: RiskRow = { id: "send_credentials", severity: "critical", category: "exfiltration" }
const RUINOUS: RiskRow = { id: "ruinous_command", severity: "critical", category: "destructive" }

/** Where code is hosted: installing from there is ordinary. */
const CODE_HOSTS = new Set(["github.com", "gitlab.com", "bitbucket.org", "codeberg.org"])

function rowOf({ key, level, effects, view }: CommandFinding): RiskRow | undefined {
  // What only the text shows may be an example or a sentence; the patterns of the guard judge text.
  if (level === "hardline" && view === "argv") return RUINOUS
  const row = commandRisk(key)
  if (row?.id !== "unusual_source") return row
  return effects.some((effect) => effect.kind === "network" && CODE_HOSTS.has(effect.host ?? "")) ? undefined : row
}

/** A script that an earlier snippet has fetched. Within one snippet the policy finds it. */
function ranDownloads({ understood }: CommandVerdict, { downloads }: Seen): readonly string[] {
  return understood.doubts
    .filter(({ kind, text }) => (kind === "script" || kind === "program") && downloads.has(posix.basename(text)))
    .map(({ text }) => text)
}

const DOWNLOADERS = new Set(["curl", "wget", "wget2", "aria2c", "http", "https", "xh", "fetch", "scp", "rsync", "sftp"])

function noteDownloads({ understood }: CommandVerdict, before: ShellState["files"], { downloads }: Seen): void {
  if (!understood.commands.some(({ program }) => DOWNLOADERS.has(program ?? ""))) return
  for (const [path, text] of understood.after.files ?? [])
    if (text === undefined && before?.has(path) !== true) downloads.add(posix.basename(path))
}

const DECODERS = new Set("base64 base32 basenc xxd openssl uudecode gpg gunzip gzip zcat xz bzip2 rev".split(" "))

/** A shell or interpreter runs what a decoder prints, so the text of the skill does not show what that is. */
function ranDecoded({ understood, findings }: CommandVerdict): readonly string[] {
  const decoder = understood.commands.find((command) => DECODERS.has(command.program ?? "") && !isPacking(command))
  if (decoder === undefined) return []
  const isRun =
    understood.doubts.some(({ reason }) => RUNS_OUTPUT.test(reason)) ||
    findings.some(({ key }) => key === "code from the output of another command")
  return isRun ? [decoder.text] : []
}

const RUNS_OUTPUT = /runs what another command prints|runs computed text|is computed by the shell/u

function isPacking({ argv, program }: SimpleCommand): boolean {
  return (
    ["base64", "base32", "gzip", "xz", "bzip2"].includes(program ?? "") && !argv.some(({ text }) => DECODES.test(text))
  )
}

const DECODES = /^-[a-zA-Z]*[dD]|^--(?:decode|decompress|uncompress|stdout)/u

/** Credentials are read, and data is sent: together in one snippet, or by an earlier one that put them into a file. */
function sentCredentials(verdict: CommandVerdict, risks: readonly CommandRisk[], seen: Seen): string | undefined {
  const has = (kind: Effect["kind"], findings: readonly CommandFinding[]): boolean =>
    findings.some(({ effects }) => effects.some((effect) => effect.kind === kind))
  const found = [...verdict.findings, ...verdict.outside]
  const isCopied = seen.credentials.length > 0
  const isRead = has("credentials", verdict.findings)
  const sending = found.find(({ key }) => SENDS_FILES.has(key) || (isRead && SENDS_DATA.has(key)))
  seen.credentials.push(...risks.filter(({ id }) => id === "read_credentials" || id === "copy_credentials"))
  if (sending === undefined) return undefined
  return isRead || isCopied ? sending.description : undefined
}

const SENDS_FILES = new Set([
  "upload a file",
  "send data to another machine",
  "copy files to another machine",
  "copy to cloud storage",
  "publish to a public service",
])
const SENDS_DATA = new Set([
  "send computed data to another machine",
  "send the output of a command to another machine",
  "send a request that changes data",
])

function distinct(risks: readonly CommandRisk[]): readonly CommandRisk[] {
  const seen = new Set<string>()
  return risks.filter(({ id, command }) => {
    const key = `${id} ${command}`
    return !seen.has(key) && seen.add(key)
  })
}
