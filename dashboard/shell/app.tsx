/** The frame of every page: who looks, where they are, what is around the page. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Match, matchRoute, redirectOf } from '../base/routes.js';
import { Link } from '../components/link.js';
import { Page } from '../components/page.js';
import { Toasts } from '../components/results.js';
import { Asking, Empty, Failed, Loaded } from '../components/states.js';
import { isTokenWanted } from '../data/access.js';
import { ClusterContext, useClusterPolls } from '../data/cluster.js';
import { IdentityContext, useCapabilities, useMembership, useSession } from '../data/identity.js';
import { navigate, usePlace } from '../data/location.js';
import { EVERY_MS_FEATURES, PlanContext, useFeatures, usePlanPoll } from '../data/plan.js';
import { EVERY_MS_SLOW } from '../data/poll.js';
import { SettingsContext, useSettingsPoll } from '../data/settings.js';
import { useStore } from '../data/use-store.js';
import { AccessDialog } from './access-dialog.js';
import { AccountDialog } from './account.js';
import { ClusterDialog } from './cluster-menu.js';
import { useIdentityPoll } from './identity-poll.js';
import { Navigation } from './navigation.js';
import { NotFoundPage } from './not-found.js';
import { PageGuard } from './page-guard.js';
import { Palette } from './palette.js';
import { isInPlan, maySee, ROUTES, type Route } from './routes.js';
import { useShortcuts } from './shortcuts.js';
import { useSidebar } from './sidebar.js';
import { type ShellDialog, TopBar } from './top-bar.js';

export function App() {
  const identity = useIdentityPoll();
  const isAsked = useStore(isTokenWanted);
  return (
    <IdentityContext.Provider value={identity.data}>
      <PageGuard>
        <Frame>
          {identity.data === null ? (
            <Loaded poll={identity} what="who you are">
              {() => null}
            </Loaded>
          ) : (
            <Here />
          )}
        </Frame>
      </PageGuard>
      {isAsked && <AccessDialog />}
      <Toasts />
    </IdentityContext.Provider>
  );
}

function Frame({ children }: { readonly children: preact.ComponentChildren }) {
  const cluster = useClusterPolls();
  const settings = useSettingsPoll();
  const { path } = usePlace();
  // The page of the plan shows figures that change; other pages need the features alone.
  const plan = usePlanPoll(path === '/console' ? EVERY_MS_SLOW : EVERY_MS_FEATURES);
  const sidebar = useSidebar();
  const [open, setOpen] = useState<ShellDialog | null>(null);
  const session = useSession();
  const close = () => setOpen(null);
  const capabilities = useCapabilities();
  const main = useRef<HTMLElement>(null);
  useShortcuts({ onPalette: () => setOpen('palette'), onCollapse: sidebar.toggle });
  return (
    <ClusterContext.Provider value={cluster}>
      <SettingsContext.Provider value={settings}>
        <PlanContext.Provider value={plan}>
          <button type="button" class="skip" onClick={() => focusHeading(main.current)}>
            To the page
          </button>
          <div class="shell" data-collapsed={sidebar.isCollapsed ? '' : undefined}>
            <TopBar
              isCollapsed={sidebar.isCollapsed}
              onCollapse={sidebar.toggle}
              onOpen={setOpen}
            />
            <Navigation capabilities={capabilities} onOpen={setOpen} />
            <main ref={main}>{children}</main>
          </div>
          {open === 'palette' && (
            <Palette onClose={close} onCollapse={sidebar.toggle} onOpen={setOpen} />
          )}
          {open === 'cluster' && session !== null && (
            <ClusterDialog session={session} onClose={close} />
          )}
          {open === 'account' && session !== null && (
            <AccountDialog session={session} onClose={close} />
          )}
        </PlanContext.Provider>
      </SettingsContext.Provider>
    </ClusterContext.Provider>
  );
}

/** The page of the address. */
function Here() {
  const capabilities = useCapabilities();
  const { path, query } = usePlace();
  const features = useFeatures();
  const redirect = redirectOf(path, query);
  useLayoutEffect(() => {
    if (redirect !== null) navigate(redirect, { replace: true });
  }, [redirect]);
  useFocusOnNewPage(path);
  if (redirect !== null) return null;
  const match = matchRoute(ROUTES, path);
  if (match === null) return <NotFoundPage />;
  if (!maySee(match.page, capabilities)) return <Forbidden title={match.page.title} />;
  if (!isInPlan(match.page, features)) {
    return <NotInPlan title={match.page.title} isKnown={features !== null} />;
  }
  return (
    <PageGuard key={path}>
      <Shown match={match} />
    </PageGuard>
  );
}

function Shown({ match: { page, params } }: { readonly match: Match<Route> }) {
  const Content = page.page;
  return <Content params={params} />;
}

function Forbidden({ title }: { readonly title: string }) {
  const session = useSession();
  const cluster = useMembership();
  if (session === null) {
    return (
      <Page title={title}>
        <Failed reason="the role of your token does not read this page" status={401} />
      </Page>
    );
  }
  return (
    <Page title={title}>
      {cluster === null ? (
        <Empty>
          <p>You have no role on {session.clusters.length === 0 ? 'any' : 'this'} cluster.</p>
          <p>Whoever administers one gives you a role on it, under Members.</p>
        </Empty>
      ) : (
        <Failed reason={`your role on ${cluster.slug}, ${cluster.role}, does not allow it`} />
      )}
    </Page>
  );
}

interface NotInPlanProps {
  readonly title: string;
  readonly isKnown: boolean;
}

function NotInPlan({ title, isKnown }: NotInPlanProps) {
  const cluster = useMembership();
  return (
    <Page title={title}>
      {isKnown ? (
        <Empty>
          <p>
            The plan of {cluster?.slug} does not have this. <Link to="/console">What it has</Link>
          </p>
        </Empty>
      ) : (
        <Asking what="the plan" />
      )}
    </Page>
  );
}

/** As a browser does with a new document; not on the first page, where it has done it. */
function useFocusOnNewPage(path: string): void {
  const last = useRef(path);
  useEffect(() => {
    if (last.current === path) return;
    last.current = path;
    scrollTo(0, 0);
    focusHeading(document.querySelector('main'));
  }, [path]);
}

function focusHeading(main: HTMLElement | null): void {
  main?.querySelector('h1')?.focus();
}
