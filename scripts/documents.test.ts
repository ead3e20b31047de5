import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"

import { describe, expect, test } from "vitest"

import packageFacts from "../package.json" with { type: "json" }
import { COMMAND_TREE } from "../src/cli/command-table.ts"
import { parseLine } from "../src/cli/parse.ts"
import { settingOf } from "../src/config/settings.ts"

const root = resolve(dirname(fileURLToPath(import.meta.url)), "..")
const read = (document: string): string => readFileSync(join(root, document), "utf8")

const DOCUMENTS = [
  ...globSync("*.md", { cwd: root }),
  ...globSync("docs/**/*.md", { cwd: root }),
  ...globSync("test/**/*.md", { cwd: root }),
].toSorted()

/** Generated pages are checked by their generator, and name commands of later releases on purpose. */
const WRITTEN_BY_HAND = DOCUMENTS.filter((document) => !document.startsWith("docs/reference/"))

test.each([
  ["README.md", 150],
  ["AGENTS.md", 200],
  ["CONTRIBUTING.md", 100],
])("%s stays within %i lines", (document, most) => {
  expect(read(document).trimEnd().split("\n").length).toBeLessThanOrEqual(most)
})

test("an agent that works here is shown the whole of AGENTS.md", () => {
  expect(read("AGENTS.md").length).toBeLessThanOrEqual(settingOf("context_file_max_chars").default)
})

test.each(["README.md", "AGENTS.md", "CONTRIBUTING.md", "docs/architecture.md", "docs/glossary.md"])(
  "every repository path that %s names exists",
  (document) => {
    const named = inlineCode(read(document)).filter((text) => REPOSITORY_PATH.test(text))
    expect(named.filter((path) => !isInRepository(path))).toEqual([])
  },
)

test("the guide for developers names enough paths for the check to mean something", () => {
  const named = inlineCode(read("AGENTS.md")).filter((text) => REPOSITORY_PATH.test(text))
  expect(named.length).toBeGreaterThan(40)
})

describe.each(WRITTEN_BY_HAND)("%s", (document) => {
  test("relative links lead to a file and, where named, a heading", () => {
    const broken = relativeLinks(read(document)).filter((link) => !leadsSomewhere(link, document))
    expect(broken).toEqual([])
  })

  test("names only npm scripts that exist", () => {
    const scripts = [...read(document).matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name!)
    expect(scripts.filter((name) => !(name in packageFacts.scripts))).toEqual([])
  })

  test("names only commands and flags of this release", () => {
    const refused = commandLines(read(document)).filter((line) => !isUnderstood(line))
    expect(refused).toEqual([])
  })
})

const REPOSITORY_PATH =
  /^(?:(?:src|test|scripts|docs|runtime|\.ci)\/[\w./<>*{},-]*|\.?[\w-]+\.(?:json|md|ts|cjs|mjs)|LICENSE)$/

/** What is written between back-ticks, outside of fenced blocks. */
function inlineCode(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/`([^`\n]+)`/g)].map(([, text]) => text!)
}

function withoutFences(markdown: string): string {
  return markdown.replaceAll(/^```[^]*?^```$/gm, "")
}

/** `<name>` in a path stands for any name: at least one such file must exist. */
function isInRepository(path: string): boolean {
  const pattern = path.replaceAll(/<[^>]*>/g, "*")
  if (!/[*{]/.test(pattern)) return existsSync(join(root, pattern)) || isFileOfTheHome(path)
  return globSync(pattern, { cwd: root }).length > 0
}

/** Files that live in a person's home, not here. */
function isFileOfTheHome(path: string): boolean {
  return ["SOUL.md", "MEMORY.md", "USER.md", "auth.json"].includes(path)
}

function relativeLinks(markdown: string): string[] {
  const text = withoutFences(markdown).replaceAll(/`[^`\n]*`/g, "")
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter((link) => !/^[a-z]+:/.test(link))
}

function leadsSomewhere(link: string, from: string): boolean {
  const [path = "", heading] = link.split("#")
  const target = path === "" ? from : join(dirname(from), path)
  if (!existsSync(join(root, target))) return false
  return heading === undefined || headings(read(target)).includes(heading)
}

/** Headings as the names GitHub gives them. */
function headings(markdown: string): string[] {
  return [...withoutFences(markdown).matchAll(/^#+ (.+)$/gm)].map(([, title]) =>
    title!
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(/\s/g, "-"),
  )
}

/** Lines that start Hermes: in a `sh` block, or alone between back-ticks. */
function commandLines(markdown: string): string[] {
  const blocks = [...markdown.matchAll(/^```sh\n([^]*?)^```$/gm)].flatMap(([, block]) => block!.split("\n"))
  return [...blocks, ...inlineCode(markdown)].filter((line) => START.test(line))
}

const START = /^(?:[^|]*\| *)?(?:(?:\.\/)?hermes|npm start --) (?!…)/

function isUnderstood(line: string): boolean {
  const words = line
    .replace(START, "")
    .replace(/\s(?:#|\||>|<).*$/, "")
    .match(/"[^"]*"|'[^']*'|\S+/g)
  const argv = (words ?? []).map((word) => word.replaceAll(/^["']|["']$/g, ""))
  return ["run", "help", "version"].includes(parseLine(argv, COMMAND_TREE).kind)
}
