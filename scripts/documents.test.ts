import { existsSync, globSync, readFileSync } from "node:fs"
import { basename, dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { describe, expect, test } from "vitest"

import packageFacts from "../package.json" with { type: "json" }
import { COMMAND_TREE } from "../src/cli/command-table/command-tree.ts"
import { parseCommandLine } from "../src/cli/command-line/parse-command-line.ts"
import { DEFAULT_EDITOR_KEYS } from "../src/config/editor-keys.ts"
import { isReserved, resolveSettingPath } from "../src/config/setting-path.ts"
import { settingKeys, settingOf } from "../src/config/settings.ts"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const read = (document: string): string => readFileSync(join(root, document), "utf8")

const DOCUMENTS = [
  ...globSync("*.md", { cwd: root }),
  ...globSync("docs/**/*.md", { cwd: root }),
  ...globSync("test/**/*.md", { cwd: root }),
].toSorted()

/** Without the generated pages: their generator checks them, and they intentionally mention commands of later releases. */
const WRITTEN_BY_HAND = DOCUMENTS.filter((document) => !document.startsWith("docs/reference/"))

test.each([
  ["README.md", 150],
  ["AGENTS.md", 200],
  ["CONTRIBUTING.md", 100],
])("%s has at most %i lines", (document, limit) => {
  expect(read(document).trimEnd().split("\n").length).toBeLessThanOrEqual(limit)
})

test("AGENTS.md fits in the context file limit of an agent", () => {
  expect(read("AGENTS.md").length).toBeLessThanOrEqual(settingOf("context_file_max_chars").default)
})

test.each(["README.md", "AGENTS.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md"])(
  "every repository path in %s exists",
  (document) => {
    const named = inlineCode(read(document)).filter((text) => REPOSITORY_PATH.test(text))
    expect(named.filter((path) => !isInRepository(path))).toEqual([])
  },
)

test("AGENTS.md contains paths that the check can find", () => {
  const named = inlineCode(read("AGENTS.md")).filter((text) => REPOSITORY_PATH.test(text))
  expect(named.length).toBeGreaterThan(40)
})

test("the record of dependencies names every package of package.json", () => {
  const record = read("docs/decisions/0008-dependencies.md")
  const named = [...record.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell]) => cell!.split(", "))
  const packages = Object.keys({ ...packageFacts.dependencies, ...packageFacts.devDependencies })
  expect(packages.filter((name) => !named.includes(name))).toEqual([])
})

test("every repository path that a decision record names exists", () => {
  const records = globSync("docs/decisions/*.md", { cwd: root })
  const named = records.flatMap((record) => inlineCode(read(record)).filter((text) => REPOSITORY_PATH.test(text)))
  expect(named.filter((path) => !isInRepository(path))).toEqual([])
})

describe.each(WRITTEN_BY_HAND)("%s", (document) => {
  test("relative links point to existing files and headings", () => {
    const broken = relativeLinks(read(document)).filter((link) => !linkTargetExists(link, document))
    expect(broken).toEqual([])
  })

  test("mentions only existing npm scripts", () => {
    const scripts = [...read(document).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!)
    expect(scripts.filter((name) => !(name in packageFacts.scripts))).toEqual([])
  })

  test("mentions only commands and flags of this release", () => {
    const unknown = commandLines(read(document)).filter((line) => !isValidCommand(line))
    expect(unknown).toEqual([])
  })
})

/** Pages that describe behaviour to users. */
const GUIDES = WRITTEN_BY_HAND.filter((document) =>
  /^(?:README|docs\/getting-started|docs\/troubleshooting|docs\/guides\/[\w-]+)\.md$/.test(document),
)

test.each(GUIDES)("the settings that %s names exist and have an effect", (document) => {
  const sections = new Set(settingKeys().map((key) => key.split(".")[0]))
  const named = [...inlineCode(read(document)), ...commandLines(read(document))].flatMap((text) => {
    const [, key = ""] = /^(?:.*config (?:set|get|unset) )?([a-z_]+(?:\.[a-z_]+)+)(?::? .*)?$/.exec(text) ?? []
    return sections.has(key.split(".")[0] ?? "") && !FILE_OR_EVENT.test(key) ? [key] : []
  })
  expect(named.filter((key) => resolveSettingPath(key).kind === "unknown" || isReserved(key))).toEqual([])
})

/** Files and events whose names look like settings. */
const FILE_OR_EVENT = /\.(?:md|ya?ml|jsonl?|log|db|request|resolved)$/

test("docs/guides/terminal.md lists the keys of the editor", () => {
  const rows = read("docs/guides/terminal.md").matchAll(/^\| `([a-z_]+)` \| ([^|]+) \|/gm)
  const listed = [...rows].map(([, action, keys]) => [action, keys === "none" ? [] : keys!.toLowerCase().split(", ")])
  expect(Object.fromEntries(listed)).toEqual(DEFAULT_EDITOR_KEYS)
})

test("docs/guides/terminal.md shows every picture of the terminal interface", () => {
  const pictures = globSync("docs/images/*.svg", { cwd: root }).map((path) => basename(path))
  const shown = ["README.md", "docs/guides/terminal.md"].map((document) => read(document)).join("\n")
  expect(pictures.filter((name) => !shown.includes(`images/${name})`))).toEqual([])
})

test("the messages that docs/troubleshooting.md quotes exist", () => {
  const sources = ["hermes", ...globSync("{src/**/*.ts,scripts/*.mjs}", { cwd: root })]
    .filter((path) => !path.endsWith(".test.ts"))
    .map((path) => read(path))
    .join("\n")
    .replaceAll(/\\([`"])/g, "$1")
    .replaceAll(/["`]\s*\+\s*["`]/g, "")
    .toLowerCase()
  const quoted = read("docs/troubleshooting.md")
    .split("\n")
    .filter((line) => /^(?:\*\*|\| )"/.test(line))
    .flatMap((line) => [...(line.split(line.startsWith("|") ? " | " : "** ")[0] ?? "").matchAll(/"([^"]+)"/g)])
    .flatMap(([, message]) => message!.split("…").map((part) => part.trim()))
  expect(quoted.length).toBeGreaterThan(60)
  expect(quoted.filter((part) => !sources.includes(part.toLowerCase()))).toEqual([])
})

const REPOSITORY_PATH =
  /^(?:(?:src|test|scripts|docs|runtime|\.ci)\/[\w./<>*{},-]*|\.?[\w-]+\.(?:json|md|ts|cjs|mjs)|LICENSE)$/

/** The text between backticks, outside fenced blocks. */
function inlineCode(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!)
}

function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^```[^]*?^```$/gm, "")
}

/** `<name>` in a path matches any name: at least one such file must exist. */
function isInRepository(path: string): boolean {
  const pattern = path.replaceAll(/<[^>]*>/g, "*")
  if (!/[*{]/.test(pattern)) return existsSync(join(root, pattern)) || isHomeFile(path)
  return globSync(pattern, { cwd: root }).length > 0
}

/** Files of the Hermes home, which are not in the repository. */
function isHomeFile(path: string): boolean {
  return ["SOUL.md", "MEMORY.md", "USER.md", "auth.json", "active_sessions.json"].includes(path)
}

function relativeLinks(markdown: string): string[] {
  const text = withoutFences(markdown).replaceAll(/`[^`\n]*`/g, "")
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter((link) => !/^[a-z]+:/.test(link))
}

function linkTargetExists(link: string, from: string): boolean {
  const [path = "", heading] = link.split("#")
  const target = path === "" ? from : join(dirname(from), path)
  if (!existsSync(join(root, target))) return false
  return heading === undefined || headings(read(target)).includes(heading)
}

/** The anchor names that GitHub generates for headings. */
function headings(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-"),
  )
}

/** Lines that run Hermes, in a `sh` block or between backticks. */
function commandLines(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, block]) => block!.split("\n"))
  return [...blocks, ...inlineCode(markdown)].filter((line) => COMMAND_PREFIX.test(line))
}

const COMMAND_PREFIX = /^(?:[^|]*\| *)?(?:(?:\.\/)?hermes|npm start --) (?!…)/

function isValidCommand(line: string): boolean {
  const words = line
    .replace(COMMAND_PREFIX, "")
    .replace(/\s(?:#|\||>|<).*$/, "")
    .match(/"[^"]*"|'[^']*'|\S+/g)
  const argv = (words ?? []).map((word) => word.replaceAll(/^["']|["']$/g, ""))
  return ["run", "help", "version"].includes(parseCommandLine(argv, COMMAND_TREE).kind)
}
