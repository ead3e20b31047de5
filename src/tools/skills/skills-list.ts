import { z } from "zod"

import { defineTool } from "../../toolkit/define-tool.ts"
import { digestChars } from "../../toolkit/digest-line.ts"
import { failure } from "../failure.ts"

export const skillsList = defineTool({
  name: "skills_list",
  toolset: "skills",
  description: "List the skills: saved procedures for kinds of work. Load one with skill_view before matching work.",
  input: z.object({ category: z.string().optional() }),
  declarationRank: 14,
  role: "skills",
  access: "read",
  subject: ({ category }) => ({ kind: "name", name: category ?? "" }),
  label: { emoji: "📚", verb: "skills" },
  preview: ({ category }) => category ?? "all skills",
  digest: ({ result }) => `[skills_list] name=all (${digestChars(result)} chars)`,
  parallel: "safe",
  idempotent: true,
  newestResultOnly: true,
  run: async ({ category }, { ports }) => {
    const port = await ports.skills?.()
    if (port === undefined) return failure("skills are not available here")
    const { skills } = await port.offered()
    const categories = [...new Set(skills.map((skill) => skill.category).filter((name) => name !== ""))].toSorted()
    const wanted = category?.trim() ?? ""
    const listed = skills.filter((skill) => wanted === "" || isIn(skill.category, wanted))
    if (wanted !== "" && listed.length === 0)
      return failure(`there is no category ${wanted}; there are: ${categories.join(", ")}`, { success: false })
    return {
      content: {
        success: true,
        skills: listed.map(({ name, description, category: its, problem }) => ({
          name,
          description,
          category: its,
          ...(problem === undefined ? {} : { problem }),
        })),
        categories,
        count: listed.length,
        hint: "skill_view(name) loads one.",
      },
      summary: `${listed.length} skills`,
    }
  },
})

function isIn(category: string, wanted: string): boolean {
  return category === wanted || category.startsWith(`${wanted}/`)
}
