import { assertNever } from "../../base/assert-never.ts"

/** A change to the skills of the home, as the `skill_manage` tool and the review of staged changes carry it out. */
export type SkillChange =
  | { readonly action: "create"; readonly name: string; readonly category: string; readonly content: string }
  | { readonly action: "edit"; readonly name: string; readonly content: string }
  | { readonly action: "write_file"; readonly name: string; readonly filePath: string; readonly content: string }
  | { readonly action: "remove_file"; readonly name: string; readonly filePath: string }
  /** `absorbedInto` names the skill that now has its content; "" when it is simply removed. */
  | { readonly action: "delete"; readonly name: string; readonly absorbedInto: string }

export type SkillChangeResult =
  | {
      readonly kind: "done"
      readonly message: string
      readonly path: string
      readonly category: string
      readonly files: readonly string[]
      /** The text before and after; undefined where there was or is none. */
      readonly before: string | undefined
      readonly after: string | undefined
    }
  | { readonly kind: "staged"; readonly id: string; readonly message: string }
  | { readonly kind: "refused"; readonly error: string; readonly similar?: string }

export function refusedChange(error: string): { readonly kind: "refused"; readonly error: string } {
  return { kind: "refused", error }
}

/** One line for the user. */
export function describeChange(change: SkillChange): string {
  switch (change.action) {
    case "create":
      return `create the skill ${change.name}`
    case "edit":
      return `change the skill ${change.name}`
    case "write_file":
      return `write ${change.filePath} of the skill ${change.name}`
    case "remove_file":
      return `remove ${change.filePath} from the skill ${change.name}`
    case "delete":
      return change.absorbedInto === ""
        ? `delete the skill ${change.name}`
        : `delete the skill ${change.name}, whose content is now in ${change.absorbedInto}`
    default:
      return assertNever(change)
  }
}
