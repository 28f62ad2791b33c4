// Which open issues of the last weeks wait for an answer of ours, worst first?
interface Issue {
  number: number;
  title: string;
  author: string;
  labels: string[];
  comments: number;
  updatedAt: string;
  lastCommentBy?: string;
}

type Scored = Issue & { score: number; reasons: readonly string[] };

const TEAM: ReadonlySet<string> = new Set(args.team as string[]);
const DAY_MS = 24 * 60 * 60 * 1000;
const WEIGHTS: Record<string, number> = { bug: 5, regression: 8, security: 13, docs: 1 };

function ageInDays(issue: Issue, now: number = Date.now()): number {
  return Math.max(0, (now - Date.parse(issue.updatedAt)) / DAY_MS);
}

function score(issue: Issue): Scored {
  const reasons: string[] = [];
  let total = 0;
  for (const label of issue.labels) {
    const weight: number = WEIGHTS[label] ?? 0;
    if (weight > 0) reasons.push(`label ${label}`);
    total += weight;
  }
  if (issue.lastCommentBy !== undefined && !TEAM.has(issue.lastCommentBy)) {
    reasons.push("the last word is not ours");
    total += 4;
  }
  const age = ageInDays(issue);
  if (age > 7) {
    reasons.push(`quiet for ${Math.round(age)} days`);
    total += Math.min(6, age / 7);
  }
  return { ...issue, score: total, reasons };
}

async function load<T>(tool: (query: object) => Promise<T[]>, pages: number): Promise<T[]> {
  const parts = await Promise.all(
    Array.from({ length: pages }, (_: unknown, page: number) => tool({ state: "open", page })),
  );
  return parts.flat() as T[];
}

const issues: Issue[] = await load<Issue>(mcp.github.list_issues, args.pages as number);
const ranked: Scored[] = issues
  .map(score)
  .filter((issue): issue is Scored => issue.score > 3)
  .sort((one: Scored, other: Scored) => other.score - one.score);

console.log(`${ranked.length} of ${issues.length} issues wait`);
return ranked.slice(0, 20).map(({ number, title, score, reasons }) => ({
  number,
  title,
  score,
  reasons,
}));
