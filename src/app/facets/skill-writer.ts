import type { ToolEntry } from "../../toolkit/tool.ts"

/** Of the tools for skills only the one that writes them is housekeeping. */
export function isSkillWriter({ role, housekeeping }: ToolEntry): boolean {
  return role === "skills" && housekeeping === true
}
