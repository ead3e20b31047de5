// Written by scripts/generate-tool-manifest.ts from the tools themselves; run `npm run generate` after changing one.
import type { ManifestEntry } from "../toolkit/builtin-entries.ts"

export const TOOL_MANIFEST: Readonly<Record<string, ManifestEntry>> = {
  "checkpoint": {
    "name": "checkpoint",
    "toolset": "checkpoint",
    "description": "Save a named state of the project's files before a risky experiment, and return to it. restore resets all files to it (except build output, .git and .env); it first saves the current state as pre-restore.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "enum": [
            "save",
            "restore",
            "list",
            "diff",
            "delete"
          ]
        },
        "name": {
          "description": "letters, digits, . _ -",
          "type": "string"
        },
        "include_conversation": {
          "description": "save, restore: the messages too",
          "type": "boolean"
        }
      },
      "required": [
        "action"
      ]
    },
    "marks": {
      "label": {
        "emoji": "💾",
        "verb": "snapshot"
      },
      "declarationRank": 12,
      "localOnly": true
    }
  },
  "clarify": {
    "name": "clarify",
    "toolset": "clarify",
    "description": "Ask the user a question and wait for the answer. Only when the answer changes the work and you cannot find it out yourself. Not to get consent for dangerous commands: that is requested separately.",
    "parameters": {
      "type": "object",
      "properties": {
        "question": {
          "type": "string"
        },
        "choices": {
          "description": "2 to 4 real alternatives; leave out for an open question",
          "type": "array",
          "items": {
            "type": "string"
          }
        },
        "allow_freetext": {
          "default": true,
          "description": "The user may answer in their own words",
          "type": "boolean"
        }
      },
      "required": [
        "question"
      ]
    },
    "marks": {
      "label": {
        "emoji": "💬",
        "verb": "ask"
      },
      "parallel": "never",
      "role": "question",
      "declarationRank": 9,
      "inChildren": false
    }
  },
  "delegate_task": {
    "name": "delegate_task",
    "toolset": "delegation",
    "description": "Let sub-agents work on tasks that need much reading or are independent of each other; only their summaries come back. Not for a single call, mechanical steps or what needs the user. They know nothing of this conversation, so give paths, errors and constraints. They cannot ask, remember, send messages, run scripts or delegate. A summary is their own claim: verify it.",
    "parameters": {
      "type": "object",
      "properties": {
        "goal": {
          "description": "What to achieve. Either this or tasks",
          "type": "string"
        },
        "context": {
          "description": "Everything it must know: paths, errors, constraints",
          "type": "string"
        },
        "toolsets": {
          "description": "Limits its tools; default: yours",
          "type": "array",
          "items": {
            "type": "string"
          }
        },
        "role": {
          "description": "An orchestrator may delegate itself",
          "type": "string",
          "enum": [
            "leaf",
            "orchestrator"
          ]
        },
        "worktree": {
          "description": "Work in a git worktree of its own; the result names the branch",
          "type": "boolean"
        },
        "tasks": {
          "description": "Run at the same time",
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "goal": {
                "type": "string"
              },
              "context": {
                "type": "string"
              },
              "toolsets": {
                "type": "array",
                "items": {
                  "type": "string"
                }
              },
              "role": {
                "type": "string",
                "enum": [
                  "leaf",
                  "orchestrator"
                ]
              },
              "worktree": {
                "type": "boolean"
              }
            },
            "required": [
              "goal"
            ]
          }
        },
        "background": {
          "description": "Return at once; the result arrives later as a notice",
          "type": "boolean"
        }
      }
    },
    "marks": {
      "label": {
        "emoji": "🔀",
        "verb": "delegate"
      },
      "parallel": "never",
      "provenance": "agent",
      "role": "delegation",
      "inChildren": false
    }
  },
  "execute_code": {
    "name": "execute_code",
    "toolset": "code_execution",
    "description": "Run a script that calls tools: for three or more calls with logic between them (loops, filters, retries). Only what it prints returns to you, so print the result. Not for one call, or where you must read results in full or ask the user.",
    "parameters": {
      "type": "object",
      "properties": {
        "code": {
          "type": "string"
        },
        "language": {
          "type": "string",
          "enum": [
            "javascript",
            "typescript",
            "python"
          ]
        },
        "timeout": {
          "description": "Seconds",
          "type": "integer",
          "minimum": 1
        }
      },
      "required": [
        "code"
      ]
    },
    "marks": {
      "label": {
        "emoji": "📜",
        "verb": "script"
      },
      "provenance": "command",
      "role": "script",
      "declarationRank": 13,
      "inChildren": false
    }
  },
  "learnings": {
    "name": "learnings",
    "toolset": "learnings",
    "description": "Error and fix pairs, kept across sessions. Save the cause and fix of a failure that was not obvious; search before you repeat an approach that failed. Matching ones are shown to you on errors as learning:ID.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "enum": [
            "save",
            "search",
            "list",
            "remove"
          ]
        },
        "pattern": {
          "description": "save: the error",
          "type": "string"
        },
        "fix": {
          "description": "save: cause and what helped",
          "type": "string"
        },
        "error_type": {
          "type": "string"
        },
        "context": {
          "type": "string"
        },
        "tags": {
          "type": "array",
          "items": {
            "type": "string"
          }
        },
        "tool": {
          "type": "string"
        },
        "query": {
          "type": "string"
        },
        "limit": {
          "type": "integer"
        },
        "id": {
          "type": "string"
        }
      },
      "required": [
        "action"
      ]
    },
    "marks": {
      "label": {
        "emoji": "🎓",
        "verb": "learn"
      },
      "role": "learnings",
      "declarationRank": 11
    }
  },
  "memory": {
    "name": "memory",
    "toolset": "memory",
    "description": "Durable facts across sessions, in two small files. Save corrections, preferences and facts unasked, as short statements: about the user in user, about machine and projects in memory. Not task progress, logs or trivia. When full, merge or remove entries. Changes show in the next session's prompt.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "enum": [
            "add",
            "append",
            "replace",
            "remove",
            "read",
            "search"
          ]
        },
        "target": {
          "default": "memory",
          "type": "string",
          "enum": [
            "memory",
            "user"
          ]
        },
        "content": {
          "description": "Text for add, replace",
          "type": "string"
        },
        "old_text": {
          "description": "Unique part of the entry to replace or remove",
          "type": "string"
        },
        "query": {
          "description": "Words for search",
          "type": "string"
        }
      },
      "required": [
        "action"
      ]
    },
    "marks": {
      "label": {
        "emoji": "🧠",
        "verb": "memory"
      },
      "housekeeping": true,
      "role": "memory",
      "declarationRank": 8,
      "inChildren": false
    }
  },
  "patch": {
    "name": "patch",
    "toolset": "file",
    "description": "Edit files. mode replace: old_string in path becomes new_string; small differences in spaces and quotes are tolerated, but it must be unique unless replace_all: include lines around it. mode patch: several files at once, all or nothing, in V4A form:\n*** Begin Patch\n*** Update File: a.py\n@@ def f @@\n context\n-old\n+new\n*** Add File: b.txt\n+line\n*** Delete File: c\n*** Move File: d -> e\n*** End Patch\nReturns a diff and a syntax check.",
    "parameters": {
      "type": "object",
      "properties": {
        "mode": {
          "default": "replace",
          "type": "string",
          "enum": [
            "replace",
            "patch"
          ]
        },
        "path": {
          "description": "File to edit (replace)",
          "type": "string"
        },
        "old_string": {
          "type": "string"
        },
        "new_string": {
          "description": "May be empty, to delete",
          "type": "string"
        },
        "replace_all": {
          "default": false,
          "type": "boolean"
        },
        "patch": {
          "description": "V4A text (patch)",
          "type": "string"
        },
        "cross_profile": {
          "default": false,
          "description": "Allow writing to another profile's home",
          "type": "boolean"
        }
      }
    },
    "marks": {
      "label": {
        "emoji": "🔧",
        "verb": "patch"
      },
      "parallel": "by-path",
      "family": "edit",
      "subjectsAreFiles": true,
      "declarationRank": 3,
      "inScripts": true,
      "scripts": {
        "returns": "success, diff"
      },
      "claudeCode": {
        "name": "Edit",
        "arguments": {
          "path": "file_path"
        }
      }
    }
  },
  "process": {
    "name": "process",
    "toolset": "terminal",
    "description": "Background processes started by terminal. list: all; poll: status and recent output; log: output by lines; wait: until it ends (use this, not sleep loops); kill; write: raw text to its input; submit: text and Enter; close: end of input.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "enum": [
            "list",
            "poll",
            "log",
            "wait",
            "kill",
            "write",
            "submit",
            "close"
          ]
        },
        "session_id": {
          "description": "For all but list",
          "type": "string"
        },
        "data": {
          "description": "For write and submit",
          "type": "string"
        },
        "timeout": {
          "description": "Seconds, for wait",
          "type": "integer",
          "minimum": 1
        },
        "offset": {
          "description": "First line, for log (default: the end)",
          "type": "integer",
          "minimum": 0
        },
        "limit": {
          "description": "Lines, for log (default 200)",
          "type": "integer",
          "minimum": 1
        }
      },
      "required": [
        "action"
      ]
    },
    "marks": {
      "label": {
        "emoji": "📡",
        "verb": "process"
      },
      "provenance": "command",
      "role": "shell-input",
      "declarationRank": 6
    }
  },
  "read_file": {
    "name": "read_file",
    "toolset": "file",
    "description": "Read a text file with numbered lines (`12|text`). Use this instead of cat, head or tail. Page with offset (first line, from 1) and limit. Text of notebooks (.ipynb), .docx and .xlsx is extracted. For a missing file, similar names are returned. Images (PNG, JPEG, GIF, WebP) are shown to you. Results that are too long are refused: use a smaller limit.",
    "parameters": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "minLength": 1,
          "description": "File to read; relative paths start at the working directory"
        },
        "offset": {
          "default": 1,
          "description": "First line, counted from 1",
          "type": "integer"
        },
        "limit": {
          "default": 500,
          "description": "How many lines, at most 2000",
          "type": "integer"
        }
      },
      "required": [
        "path"
      ]
    },
    "marks": {
      "label": {
        "emoji": "📖",
        "verb": "read"
      },
      "parallel": "by-path",
      "maxResultChars": "unlimited",
      "idempotent": true,
      "provenance": "file",
      "role": "file-reader",
      "subjectsAreFiles": true,
      "countsRepeats": true,
      "declarationRank": 2,
      "inScripts": true,
      "scripts": {
        "returns": "content (lines as n|text), total_lines"
      },
      "claudeCode": {
        "name": "Read",
        "arguments": {
          "path": "file_path"
        }
      },
      "lean": true
    }
  },
  "search_files": {
    "name": "search_files",
    "toolset": "file",
    "description": "Search file contents by regular expression, or find files by name (target files, glob pattern such as *.ts, newest first). Use this instead of grep, rg, find or ls. Ignored and hidden files are left out. output_mode content shows matching lines, files_only the paths, count the number per file; page with limit and offset.",
    "parameters": {
      "type": "object",
      "properties": {
        "pattern": {
          "type": "string",
          "minLength": 1,
          "description": "Regular expression (content) or glob (files)"
        },
        "target": {
          "type": "string",
          "enum": [
            "content",
            "files"
          ]
        },
        "path": {
          "default": ".",
          "description": "Directory or file to search",
          "type": "string"
        },
        "file_glob": {
          "description": "Only files whose name matches this glob",
          "type": "string"
        },
        "limit": {
          "default": 50,
          "type": "integer"
        },
        "offset": {
          "default": 0,
          "type": "integer"
        },
        "output_mode": {
          "default": "content",
          "type": "string",
          "enum": [
            "content",
            "files_only",
            "count"
          ]
        },
        "context": {
          "default": 0,
          "description": "Lines before and after each match",
          "type": "integer"
        }
      },
      "required": [
        "pattern"
      ]
    },
    "marks": {
      "label": {
        "emoji": "🔎",
        "verb": "grep"
      },
      "parallel": "safe",
      "idempotent": true,
      "provenance": "file",
      "role": "file-search",
      "countsRepeats": true,
      "declarationRank": 5,
      "inScripts": true,
      "scripts": {
        "returns": "matches [{path, line, content}] or files",
        "alias": "search"
      },
      "claudeCode": {
        "name": "Grep"
      },
      "lean": true
    }
  },
  "session_search": {
    "name": "session_search",
    "toolset": "session_search",
    "description": "Search and read past sessions; also what was removed from this one. No arguments: recent sessions. query: search all sessions by a question or words (any word matches; \"phrase\", AND, NOT, prefix* are exact). session_id: its start and end; + query: search it and what it continues; + around_message_id: messages near that one, window 0: that one word for word, paged by offset (characters).",
    "parameters": {
      "type": "object",
      "properties": {
        "query": {
          "type": "string"
        },
        "session_id": {
          "type": "string"
        },
        "around_message_id": {
          "type": "integer"
        },
        "window": {
          "default": 5,
          "description": "0-20",
          "type": "integer"
        },
        "limit": {
          "default": 3,
          "description": "1-10",
          "type": "integer"
        },
        "offset": {
          "default": 0,
          "type": "integer"
        },
        "sort": {
          "type": "string",
          "enum": [
            "newest",
            "oldest"
          ]
        },
        "role_filter": {
          "description": "user,assistant,tool",
          "type": "string"
        },
        "source": {
          "type": "string"
        },
        "after": {
          "description": "ISO date",
          "type": "string"
        },
        "before": {
          "type": "string"
        },
        "profile": {
          "type": "string"
        }
      }
    },
    "marks": {
      "label": {
        "emoji": "🔍",
        "verb": "recall"
      },
      "parallel": "safe",
      "maxResultChars": "unlimited",
      "idempotent": true,
      "housekeeping": true,
      "role": "session-search",
      "declarationRank": 10
    }
  },
  "skill_manage": {
    "name": "skill_manage",
    "toolset": "skills",
    "description": "Save and improve skills. create after hard-won success: SKILL.md = front matter (---, name, description: what and when, ---) and numbered steps, commands, pitfalls, checks. patch a skill that proved wrong, at once. Improve a similar skill instead of adding one. Confirm deletes with the user.",
    "parameters": {
      "type": "object",
      "properties": {
        "action": {
          "type": "string",
          "enum": [
            "create",
            "edit",
            "patch",
            "delete",
            "write_file",
            "remove_file"
          ]
        },
        "name": {
          "type": "string"
        },
        "content": {
          "description": "Whole SKILL.md (create, edit)",
          "type": "string"
        },
        "old_string": {
          "type": "string"
        },
        "new_string": {
          "type": "string"
        },
        "replace_all": {
          "default": false,
          "type": "boolean"
        },
        "category": {
          "description": "For create",
          "type": "string"
        },
        "file_path": {
          "description": "Below references/, templates/, scripts/ or assets/",
          "type": "string"
        },
        "file_content": {
          "type": "string"
        },
        "absorbed_into": {
          "description": "For delete: skill that has the content now",
          "type": "string"
        }
      },
      "required": [
        "action",
        "name"
      ]
    },
    "marks": {
      "label": {
        "emoji": "📝",
        "verb": "skill"
      },
      "housekeeping": true,
      "role": "skills",
      "declarationRank": 13,
      "inChildren": false
    }
  },
  "skill_view": {
    "name": "skill_view",
    "toolset": "skills",
    "description": "Load a skill before doing work that it covers, then follow it. With file_path: open one of its linked files.",
    "parameters": {
      "type": "object",
      "properties": {
        "name": {
          "type": "string",
          "description": "Name, or category/name"
        },
        "file_path": {
          "description": "E.g. references/api.md",
          "type": "string"
        }
      },
      "required": [
        "name"
      ]
    },
    "marks": {
      "label": {
        "emoji": "📚",
        "verb": "skill"
      },
      "parallel": "safe",
      "role": "skills",
      "newestResultOnly": true,
      "declarationRank": 8
    }
  },
  "skills_list": {
    "name": "skills_list",
    "toolset": "skills",
    "description": "List the skills: saved procedures for kinds of work. Load one with skill_view before matching work.",
    "parameters": {
      "type": "object",
      "properties": {
        "category": {
          "type": "string"
        }
      }
    },
    "marks": {
      "label": {
        "emoji": "📚",
        "verb": "skills"
      },
      "parallel": "safe",
      "idempotent": true,
      "role": "skills",
      "newestResultOnly": true,
      "declarationRank": 14
    }
  },
  "terminal": {
    "name": "terminal",
    "toolset": "terminal",
    "description": "Run a shell command; returns its output and exit code when it ends, so give slow ones a generous timeout. Directory, variables, functions and aliases persist between calls. Never use nohup or &: background=true is for servers and long jobs, with notify_on_complete for those that end. No interactive prompts without pty. To read, search or edit files use the file tools.",
    "parameters": {
      "type": "object",
      "properties": {
        "command": {
          "type": "string",
          "minLength": 1
        },
        "background": {
          "type": "boolean"
        },
        "timeout": {
          "description": "Seconds, foreground only (default 180)",
          "type": "integer",
          "minimum": 1
        },
        "workdir": {
          "type": "string",
          "minLength": 1
        },
        "pty": {
          "description": "In a pseudo-terminal, for interactive programs",
          "type": "boolean"
        },
        "notify_on_complete": {
          "description": "Notify you once when it ends",
          "type": "boolean"
        },
        "watch_patterns": {
          "description": "Notify you of output lines with one of these texts; only for rare signals",
          "type": "array",
          "items": {
            "type": "string",
            "minLength": 1
          }
        }
      },
      "required": [
        "command"
      ]
    },
    "marks": {
      "label": {
        "emoji": "💻",
        "verb": "$"
      },
      "provenance": "command",
      "role": "shell",
      "declarationRank": 1,
      "inScripts": true,
      "scripts": {
        "omits": [
          "background",
          "pty",
          "notify_on_complete",
          "watch_patterns"
        ],
        "returns": "output, exit_code"
      },
      "claudeCode": {
        "name": "Bash"
      },
      "lean": true
    }
  },
  "todo": {
    "name": "todo",
    "toolset": "todo",
    "description": "Your task list for this session, for work of 3 or more steps or several tasks. It works silently. Without todos it returns the list. Order is priority. Keep one item in_progress; mark items completed at once. If one fails, cancel it and add a revised one. Do not add testing unless asked.",
    "parameters": {
      "type": "object",
      "properties": {
        "todos": {
          "type": "array",
          "items": {
            "type": "object",
            "properties": {
              "id": {
                "type": "string"
              },
              "content": {
                "type": "string"
              },
              "status": {
                "type": "string",
                "enum": [
                  "pending",
                  "in_progress",
                  "completed",
                  "cancelled"
                ]
              }
            }
          }
        },
        "merge": {
          "default": false,
          "description": "Change items by id instead of replacing the list",
          "type": "boolean"
        }
      }
    },
    "marks": {
      "label": {
        "emoji": "📋",
        "verb": "plan",
        "showsResult": true
      },
      "housekeeping": true,
      "role": "task-list",
      "declarationRank": 7
    }
  },
  "tool_call": {
    "name": "tool_call",
    "toolset": "tool_search",
    "description": "Call a tool of tool_search by name. tool_describe has its parameters.",
    "parameters": {
      "type": "object",
      "properties": {
        "name": {
          "type": "string",
          "minLength": 1
        },
        "arguments": {
          "type": "object",
          "description": "The tool's own parameters",
          "properties": {}
        }
      },
      "required": [
        "name"
      ]
    },
    "marks": {
      "label": {
        "emoji": "🧰",
        "verb": "call"
      },
      "bridge": "call"
    }
  },
  "tool_describe": {
    "name": "tool_describe",
    "toolset": "tool_search",
    "description": "The full description and parameters of a tool of tool_search.",
    "parameters": {
      "type": "object",
      "properties": {
        "name": {
          "type": "string",
          "minLength": 1
        }
      },
      "required": [
        "name"
      ]
    },
    "marks": {
      "label": {
        "emoji": "🧰",
        "verb": "describe"
      },
      "parallel": "safe",
      "idempotent": true,
      "newestResultOnly": true,
      "bridge": "describe"
    }
  },
  "tool_search": {
    "name": "tool_search",
    "toolset": "tool_search",
    "description": "Find more tools by what they do. Call what you find with tool_call.",
    "parameters": {
      "type": "object",
      "properties": {
        "query": {
          "type": "string",
          "minLength": 1
        },
        "limit": {
          "type": "integer"
        }
      },
      "required": [
        "query"
      ]
    },
    "marks": {
      "label": {
        "emoji": "🧰",
        "verb": "tools"
      },
      "parallel": "safe",
      "idempotent": true,
      "newestResultOnly": true,
      "bridge": "search"
    }
  },
  "write_file": {
    "name": "write_file",
    "toolset": "file",
    "description": "Write a text file: replaces the whole content, or creates the file and its parent directories. Prefer patch for edits. Use this instead of echo or here-documents in the shell. Line endings and mode of an existing file are kept; a syntax check follows.",
    "parameters": {
      "type": "object",
      "properties": {
        "path": {
          "type": "string",
          "minLength": 1,
          "description": "File to write; relative paths start at the working directory"
        },
        "content": {
          "type": "string",
          "description": "The complete new content"
        },
        "cross_profile": {
          "default": false,
          "description": "Allow writing to another profile's home",
          "type": "boolean"
        }
      },
      "required": [
        "path",
        "content"
      ]
    },
    "marks": {
      "label": {
        "emoji": "📄",
        "verb": "write"
      },
      "parallel": "by-path",
      "family": "edit",
      "subjectsAreFiles": true,
      "declarationRank": 4,
      "inScripts": true,
      "scripts": {
        "returns": "bytes_written"
      },
      "claudeCode": {
        "name": "Write",
        "arguments": {
          "path": "file_path"
        }
      },
      "lean": true
    }
  }
}
