import { basename, extname } from "node:path"

import { errorMessage } from "../../../../base/system-error.ts"
import type { CheckResult, SyntaxCheck } from "./syntax-check.ts"
import { problems } from "./syntax-check.ts"

/** JSON, YAML and TOML, checked with the parsers that Hermes uses itself. */
export const checkData: SyntaxCheck = async (text, { path }) => {
  switch (extname(path).toLowerCase()) {
    case ".json":
      return checkJson(text, path)
    case ".toml":
      return await checkToml(text)
    default:
      return await checkYaml(text)
  }
}

/** Files that are JSON with comments. */
const COMMENTED_JSON =
  /^(?:[tj]sconfig.*|devcontainer|settings|launch|tasks|extensions|\.eslintrc|\.swcrc|\.babelrc)\.json$/

function checkJson(text: string, path: string): CheckResult {
  if (COMMENTED_JSON.test(basename(path))) return { kind: "skipped", why: "this file may have comments" }
  try {
    JSON.parse(text)
    return { kind: "ok" }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return problems([errorMessage(error)])
  }
}

async function checkYaml(text: string): Promise<CheckResult> {
  const { parseAllDocuments } = await import("yaml")
  const errors = [...parseAllDocuments(text, { logLevel: "silent", prettyErrors: true })].flatMap(
    (document) => document.errors,
  )
  if (errors.some(({ code }) => code === "RESOURCE_EXHAUSTION")) {
    return { kind: "skipped", why: "this file is nested too deeply to check" }
  }
  const found = errors.map((error) => error.message.split("\n")[0] ?? error.code)
  if (found.length > 0 && /\{\{|\{%/.test(text)) return { kind: "skipped", why: "this looks like a template" }
  return problems(found)
}

async function checkToml(text: string): Promise<CheckResult> {
  const { parse, TomlError } = await import("smol-toml")
  try {
    parse(text)
    return { kind: "ok" }
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    return problems([`line ${error.line}: ${error.message.split("\n")[0] ?? ""}`])
  }
}
