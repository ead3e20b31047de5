import { readFileSync } from "node:fs"
import { join } from "node:path"
import { writeFileAtomic } from "../../base/atomic-file.ts"
import { fail, ok, type Result } from "../../base/result.ts"
import { explainSystemError } from "../../base/system-error.ts"
import type { Refusal } from "../managed-home.ts"

export interface ProfileDescription {
  readonly description: string
  /** Whether a model wrote it; such a text may be replaced without asking. */
  readonly auto: boolean
}

/** Reads the description from `profile.yaml`; empty when the file is missing or invalid. */
export async function readProfileDescription(profileDirectory: string): Promise<ProfileDescription> {
  const text = readText(join(profileDirectory, "profile.yaml"))
  if (text === "") return { description: "", auto: false }
  const { parseYaml } = await import("../document/yaml-document.ts")
  const parsed = parseYaml(text)
  const tree = parsed.ok ? parsed.value.tree : {}
  const description = tree["description"]
  return { description: typeof description === "string" ? description : "", auto: tree["description_auto"] === true }
}

/** Stores a description. Without `overwrite`, a model's text does not replace one that the user wrote. */
export async function describeProfile(
  profileDirectory: string,
  next: ProfileDescription,
  options: { readonly overwrite: boolean },
): Promise<Result<undefined, Refusal>> {
  const current = await readProfileDescription(profileDirectory)
  if (next.auto && current.description !== "" && !current.auto && !options.overwrite) {
    return fail({
      kind: "failed",
      message: "this profile already has a description that you wrote; add --overwrite to replace it",
    })
  }
  const [{ parseYaml, renderYaml }, { setInDocument }] = await Promise.all([
    import("../document/yaml-document.ts"),
    import("../document/yaml-edit.ts"),
  ])
  const path = join(profileDirectory, "profile.yaml")
  const original = readText(path)
  const parsed = parseYaml(original)
  if (!parsed.ok)
    return fail({ kind: "failed", message: `${path} does not parse (line ${parsed.error.line}); repair it first` })
  const { document } = parsed.value
  setInDocument(document, "description", next.description)
  setInDocument(document, "description_auto", next.auto)
  try {
    writeFileAtomic(path, renderYaml(document, original))
  } catch (cause) {
    return fail({ kind: "failed", message: `cannot write ${path}: ${explainSystemError(cause)}` })
  }
  return ok(undefined)
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8")
  } catch {
    // Most profiles have no description; an unreadable one counts as none.
    return ""
  }
}
