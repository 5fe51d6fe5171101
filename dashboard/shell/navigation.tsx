import type { Capabilities } from '../base/capabilities.js';
import { Link } from '../components/link.js';
import { usePlace } from '../data/location.js';
import { GROUPS, maySee, ROUTES } from './routes.js';

/** The page of a queue is below that of the queues. */
function isHere(path: string, here: string): boolean {
  return here === path || (path !== '/' && here.startsWith(`${path}/`));
}

export function Navigation({ capabilities }: { readonly capabilities: Capabilities }) {
  const { path: here } = usePlace();
  const groups = GROUPS.map((group) => {
    const pages = ROUTES.filter((route) => route.group === group && maySee(route, capabilities));
    return { group, pages };
  });
  return (
    <nav class="sidebar" id="navigation" aria-label="Pages">
      {groups
        .filter(({ pages }) => pages.length > 0)
        .map(({ group, pages }) => (
          <div key={group}>
            {group !== 'Overview' && <h2>{group}</h2>}
            <ul>
              {pages.map(({ path, title }) => (
                <li key={path}>
                  <Link to={path} current={isHere(path, here)}>
                    {title}
                  </Link>
                </li>
              ))}
            </ul>
          </div>
        ))}
    </nav>
  );
}
