import { z } from "zod"

import { explainSystemError } from "../../base/system-error.ts"
import { defineTool } from "../../toolkit/define-tool.ts"
import { digestChars, digestValue } from "../../toolkit/digest-line.ts"
import { failure } from "../failure.ts"
import { applyV4aPatch } from "./patch/v4a-mode.ts"
import { replaceInFile } from "./patch/replace-mode.ts"
import { parsePatch, pathsOf } from "./patch/v4a/parse-patch.ts"

const optionalText = z.string().optional()

export const patch = defineTool({
  name: "patch",
  claudeCode: { name: "Edit", arguments: { path: "file_path" } },
  toolset: "file",
  inScripts: true,
  scripts: { returns: "success, diff" },
  description:
    "Edit files. mode replace: old_string in path becomes new_string; small differences in spaces and quotes are tolerated, but it must " +
    "be unique unless replace_all: include lines around it. mode patch: several files at once, all or nothing, in V4A form:\n" +
    "*** Begin Patch\n*** Update File: a.py\n@@ def f @@\n context\n-old\n+new\n*** Add File: b.txt\n+line\n*** Delete File: c\n" +
    "*** Move File: d -> e\n*** End Patch\nReturns a diff and a syntax check.",
  input: z.object({
    mode: z.enum(["replace", "patch"]).default("replace"),
    path: optionalText.describe("File to edit (replace)"),
    old_string: optionalText,
    new_string: optionalText.describe("May be empty, to delete"),
    replace_all: z.boolean().default(false),
    patch: optionalText.describe("V4A text (patch)"),
    cross_profile: z.boolean().default(false).describe("Allow writing to another profile's home"),
  }),
  declarationRank: 3,
  access: "write",
  subject: (args) => pathsIn(args).map((path) => ({ kind: "path", path })),
  label: { emoji: "🔧", verb: "patch" },
  preview: (args) => pathsIn(args).join(", "),
  parallel: "by-path",
  family: "edit",
  subjectsAreFiles: true,
  digest: ({ args, result }) =>
    `[patch] ${digestValue(args["mode"]) || "replace"} in ${digestValue(args["path"]) || pathsForDigest(args["patch"])} (${digestChars(result)} chars result)`,
  run: async (args, context) => {
    context.ports.files?.resetRepeatCount()
    const crossProfile = args.cross_profile
    if (isFilesPatch(args)) {
      if (args.patch === undefined || args.patch.trim() === "") return failure("mode patch needs `patch`, the V4A text")
      try {
        return await applyV4aPatch(args.patch, { crossProfile }, context)
      } catch (error) {
        return failure(`the patch could not be applied: ${explainSystemError(error)}`)
      }
    }
    const missing = (["path", "old_string", "new_string"] as const).filter((name) => args[name] === undefined)
    if (missing.length > 0) return failure(`mode replace needs ${missing.map((name) => `\`${name}\``).join(", ")}`)
    const { path = "", old_string: old = "", new_string: replacement = "", replace_all: all } = args
    if (path === "") return failure("`path` must not be empty")
    return await replaceInFile({ path, old, replacement, all, crossProfile }, context)
  },
})

interface PatchArguments {
  readonly mode: "replace" | "patch"
  readonly path?: string | undefined
  readonly old_string?: string | undefined
  readonly patch?: string | undefined
}

/** A V4A text without a text to replace selects the patch mode, even when `mode` is replace. */
function isFilesPatch({ mode, patch: text, old_string: old }: PatchArguments): boolean {
  return mode === "patch" || (text !== undefined && old === undefined)
}

/** Every path that the call would change, for the policy decision. A patch that does not parse changes none. */
function pathsIn(args: PatchArguments): readonly string[] {
  if (!isFilesPatch(args)) return args.path === undefined ? [] : [args.path]
  return pathsInPatch(args.patch ?? "")
}

function pathsInPatch(text: string): readonly string[] {
  const parsed = parsePatch(text)
  return parsed.ok ? [...new Set(parsed.value.flatMap(pathsOf))] : []
}

const MAX_DIGEST_PATHS = 5

function pathsForDigest(text: unknown): string {
  const paths = typeof text === "string" ? pathsInPatch(text) : []
  const more = paths.length > MAX_DIGEST_PATHS ? [`and ${paths.length - MAX_DIGEST_PATHS} more`] : []
  return [...paths.slice(0, MAX_DIGEST_PATHS), ...more].join(", ")
}
