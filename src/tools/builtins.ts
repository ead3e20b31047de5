import type { BuiltinTool } from "../toolkit/builtin-entries.ts"

/**
 * Every built-in tool by name. The code of a tool is loaded with its first call; descriptions and schemas come from
 * `manifest.generated.ts`, which `npm run generate` writes from these same tools.
 */
export const BUILTIN_TOOLS = {
  checkpoint: { load: async () => (await import("./checkpoint/checkpoint.ts")).checkpoint },
  clarify: { load: async () => (await import("./clarify/clarify.ts")).clarify },
  execute_code: { load: async () => (await import("./execute-code/execute-code.ts")).executeCode },
  delegate_task: { load: async () => (await import("./delegate-task/delegate-task.ts")).delegateTask },
  learnings: { load: async () => (await import("./learnings/learnings.ts")).learnings },
  memory: { load: async () => (await import("./memory/memory.ts")).memory },
  patch: { load: async () => (await import("./file/patch.ts")).patch },
  process: { load: async () => (await import("./process/process.ts")).processTool },
  read_file: { load: async () => (await import("./file/read-file.ts")).readFile },
  search_files: { load: async () => (await import("./file/search-files.ts")).searchFiles },
  session_search: { load: async () => (await import("./session-search/session-search.ts")).sessionSearch },
  skill_manage: { load: async () => (await import("./skills/skill-manage.ts")).skillManage },
  skill_view: { load: async () => (await import("./skills/skill-view.ts")).skillView },
  skills_list: { load: async () => (await import("./skills/skills-list.ts")).skillsList },
  terminal: { load: async () => (await import("./terminal/terminal.ts")).terminal },
  todo: { load: async () => (await import("./todo/todo.ts")).todo },
  tool_call: { load: async () => (await import("./tool-search/tool-call.ts")).toolCall },
  tool_describe: { load: async () => (await import("./tool-search/tool-describe.ts")).toolDescribe },
  tool_search: { load: async () => (await import("./tool-search/tool-search.ts")).toolSearch },
  write_file: { load: async () => (await import("./file/write-file.ts")).writeFile },
} satisfies Record<string, BuiltinTool>
