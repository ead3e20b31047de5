import { normalize } from "node:path/posix"

import type { Call } from "../interpreter.ts"

/** A path like the one that `mktemp` prints. Undefined when it may be in another directory than a temporary one. */
export function temporaryPath({ argv, assignments, frame }: Call): string | undefined {
  const { scope, source, wrappers } = frame
  const isOrdinary = source !== "remote" && wrappers.length === 0 && assignments.length === 0
  if (!isOrdinary || scope.variable("TMPDIR") !== undefined) return undefined
  if (scope.alias("mktemp") !== undefined || scope.function("mktemp") !== undefined) return undefined
  let template: string | undefined
  let isBelow = false
  for (const { text, known, pattern } of argv.slice(1)) {
    if (!known || pattern) return undefined
    if (/^-[dqut]+$/u.test(text)) isBelow ||= text.includes("t")
    else if (/^--(?:directory|quiet|dry-run|suffix=[\w.-]*)$/u.test(text)) continue
    else if (text === "--tmpdir") isBelow = true
    else if (text.startsWith("-") || template !== undefined) return undefined
    else template = text
  }
  if (template === undefined) return "/tmp/tmp.XXXXXXXXXX"
  const path = isBelow && !template.includes("/") ? `/tmp/${template}` : normalize(template)
  return TEMPORARY_PATH.test(path) ? path : undefined
}

const TEMPORARY_PATH = /^\/(?:private\/)?(?:var\/)?tmp(?:\/[\w-][\w.-]*)+$/u
