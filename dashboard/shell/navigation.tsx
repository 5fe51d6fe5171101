import type { Capabilities } from '../base/capabilities.js';
import { Link } from '../components/link.js';
import { askForToken } from '../data/access.js';
import { useSession } from '../data/identity.js';
import { usePlace } from '../data/location.js';
import { useFeatures } from '../data/plan.js';
import { GROUPS, isListed, ROUTES } from './routes.js';
import type { ShellDialog } from './top-bar.js';

/** The page of a queue is below that of the queues. */
function isHere(path: string, here: string): boolean {
  return here === path || (path !== '/' && here.startsWith(`${path}/`));
}

interface NavigationProps {
  readonly capabilities: Capabilities;
  readonly onOpen: (dialog: ShellDialog) => void;
}

export function Navigation({ capabilities, onOpen }: NavigationProps) {
  const session = useSession();
  const features = useFeatures();
  const { path: here } = usePlace();
  const groups = GROUPS.map((group) => {
    const pages = ROUTES.filter(
      (route) => route.group === group && isListed(route, capabilities, features),
    );
    return { group, pages };
  });
  return (
    <nav class="sidebar" id="navigation" aria-label="Pages">
      {groups
        .filter(({ group, pages }) => pages.length > 0 || group === 'Access')
        .map(({ group, pages }) => (
          <div key={group} class={pages.length === 0 ? 'narrow-only' : undefined}>
            {group !== 'Overview' && <h2>{group}</h2>}
            <ul>
              {pages.map(({ path, title }) => (
                <li key={path}>
                  <Link to={path} current={isHere(path, here)}>
                    {title}
                  </Link>
                </li>
              ))}
              {group === 'Access' && (
                <li class="narrow-only">
                  {session === null ? (
                    <button type="button" class="plain" onClick={askForToken}>
                      Token and tenant
                    </button>
                  ) : (
                    <button type="button" class="plain" onClick={() => onOpen('account')}>
                      Account
                    </button>
                  )}
                </li>
              )}
            </ul>
          </div>
        ))}
    </nav>
  );
}
