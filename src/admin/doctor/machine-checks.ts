import { accessSync, constants, readdirSync, readFileSync } from "node:fs"
import { platform } from "node:os"
import { dirname, join } from "node:path"
import { assertNever } from "../../base/assert-never.ts"
import { findProgram, findTrustedProgram } from "../../base/find-program.ts"
import { isRecord } from "../../base/json.ts"
import { readActiveProfile } from "../../config/home.ts"
import { listProfiles } from "../../config/profiles/profiles.ts"
import { sandboxState } from "../report/sandbox-state.ts"
import { serviceFacts } from "../report/setup-facts.ts"
import { infoFinding, okFinding, type DoctorContext, type Finding, type Section } from "./finding.ts"
import { counted } from "../../base/counted.ts"

interface Program {
  readonly name: string
  readonly why: string
  /** Package name by package manager, where it differs from the program. */
  readonly brew?: string
  readonly apt?: string
  /** The environment variable that names another program. */
  readonly variable?: string
}

const PROGRAMS: readonly Program[] = [
  { name: "git", why: "worktrees, checkpoints and skills from repositories" },
  { name: "docker", why: "the docker terminal backend", apt: "docker.io", variable: "HERMES_DOCKER_BINARY" },
  {
    name: "ssh",
    why: "the ssh terminal backend",
    apt: "openssh-client",
    brew: "openssh",
    variable: "HERMES_SSH_BINARY",
  },
]

export const programsSection: Section = {
  title: "External programs",
  check: async (context) => {
    const path = context.environment.get("PATH") ?? ""
    const programs = PROGRAMS.map(({ name, why, variable, ...packages }) => {
      if (findTrustedProgram(name, path) !== undefined || isNamed(variable, context)) return okFinding(name)
      const untrusted = findProgram(name, path)
      if (untrusted !== undefined && platform() === "linux")
        return infoFinding(
          `${untrusted} is not used, because commands could have put it there${variable === undefined ? "" : `; if you trust it, set ${variable}`}`,
        )
      if (untrusted !== undefined) return okFinding(name)
      const install =
        platform() === "darwin" ? `brew install ${packages.brew ?? name}` : `apt install ${packages.apt ?? name}`
      return infoFinding(`${name} is not installed; it is only needed for ${why} (${install})`)
    })
    return [await ripgrepFinding(), ...programs, await sandboxFinding(context)]
  },
}

function isNamed(variable: string | undefined, { environment }: DoctorContext): boolean {
  return variable !== undefined && (environment.get(variable) ?? "") !== ""
}

async function sandboxFinding(context: DoctorContext): Promise<Finding> {
  const state = await sandboxState(context, context.signal)
  switch (state.kind) {
    case "on":
      return okFinding(`sandbox ${state.text}`)
    case "off":
      return infoFinding(`sandbox ${state.text}`)
    case "missing":
      return {
        level: state.required ? "failure" : "warning",
        text: state.required
          ? "no command runs: the settings require the sandbox, and it does not work here"
          : "commands run without a sandbox",
        fix: state.text,
      }
    default:
      return assertNever(state)
  }
}

/** Part of the package. Without it the search in files is slower. */
async function ripgrepFinding(): Promise<Finding> {
  try {
    const { rgPath } = await import("@vscode/ripgrep")
    accessSync(rgPath, constants.X_OK)
    return okFinding("ripgrep, which comes with Hermes")
  } catch {
    // The installation omitted optional packages, or there is no build for this system.
    return infoFinding("ripgrep did not come with this installation; searching in files is slower without it")
  }
}

export const terminalSection: Section = {
  title: "Terminal",
  check: ({ terminal, environment }) => {
    const term = environment.get("TERM") ?? "not set"
    const locale = environment.get("LC_ALL") || environment.get("LC_CTYPE") || environment.get("LANG") || ""
    return [
      infoFinding(
        `${terminal.stdoutIsTty ? `a terminal with ${terminal.columns} columns` : "output is not a terminal"}, TERM is ${term}, colour ${terminal.color ? "on" : "off"}`,
      ),
      /utf-?8/i.test(locale) || platform() === "win32"
        ? okFinding("UTF-8")
        : {
            level: "warning",
            text: `the locale is ${locale === "" ? "not set" : locale}, not UTF-8`,
            fix: "export LANG=C.UTF-8",
          },
    ]
  },
}

export const servicesSection: Section = {
  title: "Services",
  check: ({ home, config }) => {
    const { gatewayPid, jobs } = serviceFacts(home)
    return [
      infoFinding(gatewayPid === undefined ? "no gateway runs" : `a gateway runs as process ${gatewayPid}`),
      infoFinding(`${jobs.active} of ${jobs.total} scheduled jobs are active`),
      ...mcpFindings(config.get("mcp_servers")),
      infoFinding(
        `${Object.keys(config.get("hooks")).length} hook events, ${config.get("plugins.enabled").length} plugins enabled`,
      ),
    ]
  },
}

export const profilesSection: Section = {
  title: "Profiles",
  check: async ({ home, environment }) => {
    const profiles = await listProfiles({ home, environment })
    const active = readActiveProfile(home.root)
    const known = okFinding(`${profiles.length}: ${profiles.map((profile) => profile.name).join(", ")}`)
    if (active === undefined || profiles.some((profile) => profile.name === active)) return [known]
    return [
      known,
      {
        level: "failure",
        text: `the active profile ${active} does not exist`,
        fix: "hermes -p default profile use default",
      },
    ]
  },
}

export const skillsSection: Section = {
  title: "Skills",
  check: ({ home }) => {
    const files = skillFiles(home.file("skills"))
    const names = Map.groupBy(files, (file) => dirname(file).split(/[\\/]/).at(-1) ?? "")
    const findings = files.flatMap((file): Finding[] =>
      hasFrontMatter(file)
        ? []
        : [
            {
              level: "warning",
              text: `${home.display(file)} has no name and description in its front matter`,
              fix: "add both, or remove the directory",
            },
          ],
    )
    const duplicates = [...names].flatMap(([name, paths]): Finding[] =>
      paths.length < 2
        ? []
        : [
            {
              level: "warning",
              text: `${paths.length} skills are called ${name}`,
              fix: "rename or remove all but one",
            },
          ],
    )
    return [...findings, ...duplicates, okFinding(`${files.length} installed`)]
  },
}

/** A command that downloads and runs a script was most likely copied without checking it. */
function mcpFindings(servers: Readonly<Record<string, unknown>>): readonly Finding[] {
  const suspicious = Object.entries(servers).filter(
    ([, server]) => isRecord(server) && server["enabled"] !== false && SHELL_DOWNLOAD.test(commandLine(server)),
  )
  return [
    infoFinding(`${counted(Object.keys(servers).length, "MCP server")} configured`),
    ...suspicious.map(([name]): Finding => ({
      level: "warning",
      text: `the MCP server ${name} downloads and runs a script`,
      fix: `hermes config set mcp_servers.${name}.enabled false`,
    })),
  ]
}

const SHELL_DOWNLOAD =
  /\b(?:curl|wget)\b[^|]{0,500}\|\s*(?:ba|z|da)?sh\b|\b(?:ba|z|da)?sh\s+-c\b.{0,500}\b(?:curl|wget)\b/

function commandLine(server: Record<string, unknown>): string {
  const words = Array.isArray(server["args"]) ? server["args"] : []
  return [server["command"], ...words].filter((word) => typeof word === "string").join(" ")
}

function skillFiles(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.name === "SKILL.md")
      .map((entry) => join(entry.parentPath, entry.name))
  } catch {
    // A home without skills has no such directory.
    return []
  }
}

function hasFrontMatter(path: string): boolean {
  const head = readFileSync(path, "utf8").slice(0, 20_000)
  const block = /^\uFEFF?---\r?\n([\s\S]*?)\r?\n---/.exec(head)?.[1] ?? ""
  return /^name:\s*\S/m.test(block) && /^description:\s*\S/m.test(block)
}
