// Writes docs/reference/ from the tables in src/. `--check` fails when a page is out of date.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { renderCommandReference } from "../src/cli/command-line/command-reference.ts"
import { SLASH_COMMANDS } from "../src/commands/slash-table.ts"
import { ENVIRONMENT_VARIABLES } from "../src/config/environment-variables.ts"
import type { Setting } from "../src/config/setting.ts"
import { findSetting, settingSections } from "../src/config/settings.ts"
import { TOOL_MANIFEST } from "../src/tools/manifest.generated.ts"
import type { ManifestEntry } from "../src/toolkit/builtin-entries.ts"

const NOTE = "<!-- Written by `npm run generate` from the tables in src/. Do not edit by hand. -->"
const directory = join(resolve(dirname(fileURLToPath(import.meta.url)), ".."), "docs", "reference")
const check = process.argv.includes("--check")

const pages: Record<string, string> = {
  "settings.md": settingsPage(),
  "environment.md": environmentPage(),
  "commands.md": renderCommandReference(),
  "slash-commands.md": slashPage(),
  "tools.md": toolsPage(),
}

let stale = 0
for (const [name, text] of Object.entries(pages)) {
  const path = join(directory, name)
  const page = `${NOTE}\n\n${text.trim()}\n`
  if (check) {
    if (readIfExists(path) === page) continue
    stale += 1
    console.error(`docs/reference/${name} is out of date; run \`npm run generate\``)
  } else {
    mkdirSync(directory, { recursive: true })
    writeFileSync(path, page)
  }
}
process.exit(stale === 0 ? 0 : 1)

function settingsPage(): string {
  const sections = settingSections().map(({ title, keys }) => {
    const rows = keys.flatMap((key) => {
      const setting = findSetting(key)
      return setting === undefined
        ? []
        : [[`\`${key}\``, typeOf(setting), `\`${JSON.stringify(setting.default)}\``, helpOf(setting)]]
    })
    return `## ${title}\n\n${table(["Key", "Type", "Default", "Meaning"], rows)}`
  })
  return `# Settings\n\nKeys of \`config.yaml\` in the home. Set one with \`hermes config set KEY VALUE\`. Settings of features that this release does not have yet are accepted and kept, without effect.\n\n${sections.join("\n\n")}`
}

function typeOf(setting: Setting): string {
  return setting.values === undefined ? setting.type : setting.values.map((value) => `\`${value}\``).join(" ")
}

function helpOf(setting: Setting): string {
  return setting.reserved === true ? `${setting.help} *(reserved for a later release)*` : setting.help
}

function environmentPage(): string {
  const rows = ENVIRONMENT_VARIABLES.map(({ name, effect, later }) => [
    `\`${name}\``,
    later === true ? `${effect} *(reserved for a later release)*` : effect,
  ])
  return `# Environment variables\n\n${table(["Variable", "Effect"], rows)}`
}

function slashPage(): string {
  const rows = SLASH_COMMANDS.map(({ name, aliases = [], argument, help }) => [
    `\`/${name}${argument === undefined ? "" : ` ${argument}`}\``,
    aliases.map((alias) => `\`/${alias}\``).join(" "),
    help,
  ])
  return `# Slash commands\n\nTyped into a conversation.\n\n${table(["Command", "Also", "Effect"], rows)}`
}

function toolsPage(): string {
  const tools: readonly ManifestEntry[] = Object.values(TOOL_MANIFEST)
  const rows = tools.map(({ name, toolset, description, marks }) => [
    `\`${name}\``,
    toolset,
    marks.parallel ?? "never",
    marks.localOnly === true ? `${description} Not offered in containers and on other machines.` : description,
  ])
  return `# Tools\n\nThe built-in tools, with the descriptions that the model receives.\n\n${table(["Tool", "Toolset", "Parallel", "Description"], rows)}`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll("|", String.raw`\|`).replaceAll("\n", " ")).join(" | ")} |`
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n")
}

function readIfExists(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // A missing page is out of date.
    return undefined
  }
}
