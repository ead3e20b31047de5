import { existsSync, lstatSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"

import { isInside } from "../../base/is-inside.ts"
import { ok, type Result } from "../../base/result.ts"
import { failed, type AdminFailure } from "../failure.ts"
import type { HomeContext } from "../home-context.ts"
import { openForeignFiles, type ForeignFiles } from "./foreign-files.ts"
import { parseJson5 } from "./json5.ts"

/** Other agents whose home can be imported. */
export const FOREIGN_AGENTS = ["openclaw", "claude-code", "codex"] as const
export type ForeignAgent = (typeof FOREIGN_AGENTS)[number]

export const AGENT_TITLES: Readonly<Record<ForeignAgent, string>> = {
  openclaw: "OpenClaw",
  "claude-code": "Claude Code",
  codex: "Codex",
}

/** The home of another agent. Everything in it is untrusted input, and nothing in it is ever written. */
export interface ForeignHome {
  readonly agent: ForeignAgent
  readonly files: ForeignFiles
  /** Files that the agent keeps beside its home: `~/.claude.json`, or a workspace of OpenClaw elsewhere in the user's home. */
  readonly beside: ForeignFiles | undefined
  /** The settings file, decoded. Empty when there is none or it cannot be read. */
  readonly settings: unknown
}

interface Layout {
  /** Below the user's home; the first that exists is used. */
  readonly directories: readonly string[]
  /** Entries by which a home is recognised. */
  readonly marks: readonly string[]
}

const LAYOUTS: Readonly<Record<ForeignAgent, Layout>> = {
  openclaw: {
    directories: [".openclaw", ".clawdbot", ".moltbot"],
    marks: ["openclaw.json", "clawdbot.json", "moltbot.json", "agents", "workspace"],
  },
  "claude-code": {
    directories: [".claude", ".config/claude"],
    marks: ["projects", "settings.json", "CLAUDE.md", "skills", "commands", "agents", ".claude.json"],
  },
  codex: {
    directories: [".codex"],
    marks: ["config.toml", "sessions", "AGENTS.md", "history.jsonl", "prompts", "skills"],
  },
}

export async function openForeignHome(
  agent: ForeignAgent,
  { from, home }: { readonly from: string | undefined } & Pick<HomeContext, "home">,
): Promise<Result<ForeignHome, AdminFailure>> {
  const layout = LAYOUTS[agent]
  const isHome = (path: string): boolean => layout.marks.some((mark) => existsSync(join(path, mark)))
  const given = from === undefined ? undefined : resolve(from)
  const candidates = [
    ...(given === undefined ? [] : [given]),
    ...layout.directories.map((directory) => join(given ?? home.userHome, directory)),
  ]
  const path = candidates.find((candidate) => isHome(candidate))
  if (path === undefined) {
    const searched = (given === undefined ? candidates : [given]).map((candidate) => home.display(candidate)).join(", ")
    return failed(
      `There is no home of ${AGENT_TITLES[agent]} in ${searched}. Name its directory with --from, as in \`hermes import ${agent} --from ${home.display(join(home.userHome, layout.directories[0] ?? ""))}\`.`,
    )
  }
  if (isInside(home.path, path)) return failed(`${home.display(path)} contains the home of Hermes itself.`)
  const files = openForeignFiles(path)
  const settings = await readSettings(agent, files)
  return ok({ agent, files, settings, beside: filesBeside({ agent, path, settings, userHome: home.userHome }) })
}

const MAX_SETTINGS_BYTES = 20_000_000

const SETTINGS_FILES: Readonly<Record<ForeignAgent, readonly string[]>> = {
  openclaw: ["openclaw.json", "clawdbot.json", "moltbot.json"],
  "claude-code": ["settings.json"],
  codex: ["config.toml"],
}

async function readSettings(agent: ForeignAgent, files: ForeignFiles): Promise<unknown> {
  for (const name of SETTINGS_FILES[agent]) {
    const text = files.read(name, { maxBytes: MAX_SETTINGS_BYTES })
    if (text === undefined) continue
    const settings = await decodeSettings(name, text)
    if (settings === undefined)
      files.problems.push({ path: name, reason: `it is not valid ${name.endsWith(".toml") ? "TOML" : "JSON"}` })
    return settings
  }
  return undefined
}

/** Returns undefined when the text cannot be decoded. */
export async function decodeSettings(name: string, text: string): Promise<unknown> {
  if (!name.endsWith(".toml")) return parseJson5(text)
  const { parse } = await import("smol-toml")
  try {
    return parse(text)
  } catch {
    return undefined
  }
}

function filesBeside({
  agent,
  path,
  settings,
  userHome,
}: {
  readonly agent: ForeignAgent
  readonly path: string
  readonly settings: unknown
  readonly userHome: string
}): ForeignFiles | undefined {
  if (agent === "claude-code") {
    const file = `${path}.json`
    // The name of the directory decides: `--from /backup/.claude` has `/backup/.claude.json` beside it.
    if (basename(path) !== ".claude" || lstatSync(file, { throwIfNoEntry: false })?.isFile() !== true) return undefined
    return openForeignFiles(dirname(path))
  }
  if (agent !== "openclaw") return undefined
  const workspace = configuredWorkspace(settings)
  if (workspace === undefined) return undefined
  const expanded = resolve(
    path,
    workspace.replace(/^~(?=\/|$)/u, () => userHome),
  )
  // A setting must not lead the import through the whole file system.
  if (!isInside(expanded, userHome) || isInside(userHome, expanded) || isInside(expanded, path)) return undefined
  if (!["SOUL.md", "AGENTS.md"].some((name) => existsSync(join(expanded, name)))) return undefined
  return openForeignFiles(expanded)
}

function configuredWorkspace(settings: unknown): string | undefined {
  const value = valueIn(settings, "agents", "defaults", "workspace") ?? valueIn(settings, "agent", "workspace")
  return typeof value === "string" && value !== "" ? value : undefined
}

/** The value at a path of a decoded document. */
export function valueIn(value: unknown, ...keys: readonly string[]): unknown {
  let current = value
  for (const key of keys) {
    if (typeof current !== "object" || current === null || !Object.hasOwn(current, key)) return undefined
    const { [key]: next }: Readonly<Record<string, unknown>> = Object(current)
    current = next
  }
  return current
}
